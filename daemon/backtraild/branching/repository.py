"""The user's repository: which one a folder belongs to, and whether a name for a branch is free in it."""

import glob
import os
from collections.abc import Iterator

from msgspec import Struct

from backtrail.errors import BranchFailed, BranchRefused, UsageError
from backtraild.branching.git import Git
from backtraild.model import Path

_BRANCHES = "refs/heads/"
_NOTHING = "0" * 40


class Repository(Struct, frozen=True):
    """A repository with a work tree, seen from a folder in it; `git` is called at its top."""

    git: Git
    top: str
    prefix: Path  # the folder's path from the top; empty where it is the top
    head: str | None  # None as long as there is no commit

    @property
    def objects(self) -> str:
        """Where its objects lie, for all of its worktrees."""
        return os.path.join(self.git.folder, self.git.line("rev-parse", "--git-path", "objects"))


def open_repository(folder: str) -> Repository:
    """The repository whose work tree contains a folder. Raises BranchRefused where there is none to use."""
    git = Git(folder)
    try:
        inside = git.line("rev-parse", "--is-inside-work-tree")
    except BranchFailed as error:
        if "not a git repository" not in error.message:
            raise
        raise BranchRefused(
            f"{folder} does not belong to a git repository, so there is no place for a branch.",
            "Run `git init` there first. A repository further down in the folder is another one.",
        ) from error
    if inside != "true":
        raise BranchRefused(
            f"The git repository at {folder} has no work tree to which the checkpoint could belong.",
            "Branches are made in the repository in which the watched files are worked on.",
        )
    if git.line("rev-parse", "--show-object-format") == "sha256":
        raise BranchRefused(
            f"The git repository at {folder} names its objects by SHA-256, and checkpoints have SHA-1 names.",
            "`backtrail show` and `backtrail restore` get files out of a checkpoint.",
        )
    prefix = os.fsencode(git.line("rev-parse", "--show-prefix")).removesuffix(b"/")
    head = git.ask("rev-parse", "--quiet", "--verify", "HEAD")
    top = git.line("rev-parse", "--show-toplevel")
    # From further down, `git index-pack` of some versions writes into a repository that it makes up there.
    return Repository(Git(top), top, prefix, head)


def check_name(git: Git, name: str) -> str:
    """The ref of a branch of this name. Raises UsageError for one that git would not take."""
    odd = not name or "\0" in name or name.startswith("-") or name == "HEAD"
    if odd or git.ask("check-ref-format", _BRANCHES + name) is None:
        raise UsageError(
            f"{name[:100]!r} can't be the name of a branch.",
            "Use letters, digits, hyphens and single slashes, as in fix/login.",
        )
    return _BRANCHES + name


def replaceable(git: Git, ref: str, *, force: bool) -> str:
    """What git shall find at a ref when it is written; raises BranchRefused where it must not be."""
    name = ref.removeprefix(_BRANCHES)
    if ref in _in_use(git):
        raise BranchRefused(
            f"The branch {name} is checked out, or in the middle of a rebase or bisect.",
            "Choose another name.",
        )
    if git.ask("symbolic-ref", "--quiet", ref) is not None:
        raise BranchRefused(f"The branch {name} is another name for a branch.", "Choose another name.")
    present = git.ask("show-ref", "--verify", "--hash", ref)
    if present is not None and not force:
        raise BranchRefused(
            f"There is a branch {name} already, at {present[:12]}.",
            "Choose another name, or use --force to have it point at the checkpoint.",
        )
    return present or _NOTHING


def _in_use(git: Git) -> set[str]:
    """The branches that some worktree stands on, or returns to when it is done."""
    listed = git.line("worktree", "list", "--porcelain").split("\n")
    common = os.path.join(git.folder, git.line("rev-parse", "--git-common-dir"))
    checked_out = {line.removeprefix("branch ") for line in listed if line.startswith("branch ")}
    return checked_out.union(_returns(common))


def _returns(common: str) -> Iterator[str]:
    for folder in (common, *glob.glob(os.path.join(glob.escape(common), "worktrees", "*"))):
        for name in ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"):
            try:
                with open(os.path.join(folder, name), encoding="utf-8", errors="surrogateescape") as file:
                    started = file.read(4096).strip()
            except OSError:
                continue
            yield started if started.startswith(_BRANCHES) else _BRANCHES + started
