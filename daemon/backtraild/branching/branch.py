"""Making the branch: the commit is made in a place of its own, carried over in one pack, and named last."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from backtraild.branching.composing import Composition, compose
from backtraild.branching.git import Git
from backtraild.branching.repository import Repository, check_name, open_repository, replaceable
from backtraild.branching.uncaptured import Uncaptured
from backtraild.model import Change, Checkpoint, ObjectId
from backtraild.restore import refuse_hostile
from backtraild.store import Objects, ObjectType, PackWriter, trees

_NAME, _EMAIL = "Backtrail", "backtrail@localhost"  # where the user's configuration has none


class BranchResult(Struct, frozen=True):
    """The branch that was made; `kept` entries are as in HEAD because Backtrail does not capture them."""

    repository: str
    branch: str
    commit: str
    parent: str | None
    kept: int


def branch(
    folder: str,
    git_dir: str,
    checkpoint: Checkpoint,
    name: str,
    *,
    force: bool = False,
    exclude_patterns: Sequence[str] = (),
) -> BranchResult:
    """A branch in the repository of a watched folder: a commit with the checkpoint's files, on top of HEAD.

    Index, HEAD, work tree, configuration and all other refs stay as they are, and no hook runs. The commit's
    tree holds the files as they were on the disk, byte for byte: nothing is normalised or filtered as `git add`
    would do it. Where the folder is only a part of the repository, the rest is as in HEAD. What Backtrail does
    not capture (files excluded by its rules that are tracked nevertheless, files it had to skip, the commits
    of submodules) would look deleted, and is as in HEAD too. A file that git ignores and Backtrail captured is
    in the tree. May be called in any thread; `exclude_patterns` are the workspace's own.
    """
    repository = open_repository(folder)
    ref = check_name(repository.git, name)
    expected = replaceable(repository.git, ref, force=force)
    git = repository.git.set(**_identity(repository.git))
    with _quarantine() as scratch:
        apart = git.set(**_reading_both(scratch, repository.objects, os.path.join(git_dir, "objects")))
        composition = _composed(apart, repository, git_dir, checkpoint, exclude_patterns)
        _write_folders(scratch, composition)
        commit = _commit(apart, composition.tree, repository.head, checkpoint)
        with _carried_over(apart, repository, commit):
            why = f"branch: Created from Backtrail checkpoint {checkpoint.number}"
            git.run("update-ref", "--no-deref", "-m", why, ref, commit, expected)
    return BranchResult(repository.top, name, commit, repository.head, composition.kept)


def _identity(git: Git) -> dict[str, str]:
    name = git.ask("config", "user.name") or _NAME
    email = git.ask("config", "user.email") or _EMAIL
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": email,
    }


@contextlib.contextmanager
def _quarantine() -> Iterator[str]:
    """A folder for objects that are not in any repository yet: a failure leaves nothing behind."""
    with tempfile.TemporaryDirectory(prefix="backtrail-branch-") as scratch:
        os.makedirs(os.path.join(scratch, "pack"))
        yield scratch


def _reading_both(scratch: str, *folders: str) -> Mapping[str, str]:
    """Where git finds objects, and, first of all, where it puts them."""
    others = os.pathsep.join(map(_quoted, folders))
    return {"GIT_OBJECT_DIRECTORY": scratch, "GIT_ALTERNATE_OBJECT_DIRECTORIES": others}


def _quoted(folder: str) -> str:
    """A folder in a list of folders, whatever is in its name."""
    escaped = folder.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _composed(
    git: Git, repository: Repository, git_dir: str, checkpoint: Checkpoint, patterns: Sequence[str]
) -> Composition:
    objects = Objects(git_dir)  # a reader of its own: the store's may be at work in another thread
    rules = Uncaptured(checkpoint, patterns, objects)
    captured = bytes.fromhex(checkpoint.tree)
    # Git would put anything into the user's repository, and walk through a tree that has no end.
    files = trees.walk(captured, objects.read_tree)
    refuse_hostile({path: Change(None, entry) for path, entry in files})
    return compose(git, repository.head, repository.prefix, captured, rules, objects)


def _write_folders(scratch: str, composition: Composition) -> None:
    pack = PackWriter(os.path.join(scratch, "pack"), lambda _: False)
    try:
        for content in composition.folders.values():
            pack.add(ObjectType.TREE, content)
        pack.finish()
    finally:
        pack.abandon()


def _commit(git: Git, tree: ObjectId, parent: str | None, checkpoint: Checkpoint) -> str:
    """The commit, written by the user when the checkpoint was made."""
    written = f"{max(0, int(checkpoint.timestamp.timestamp()))} +0000"
    parents = () if parent is None else ("-p", parent)
    command = ("commit-tree", "--no-gpg-sign", tree.hex(), *parents, "-F", "-")
    return git.set(GIT_AUTHOR_DATE=written).run(*command, stdin=_message(checkpoint)).decode().strip()


def _message(checkpoint: Checkpoint) -> bytes:
    told = checkpoint.message.replace("\0", "\N{REPLACEMENT CHARACTER}").strip()
    text = f"Backtrail checkpoint {checkpoint.number}"
    return f"{text}: {told}\n".encode() if told else f"{text}\n".encode()


@contextlib.contextmanager
def _carried_over(git: Git, repository: Repository, commit: str) -> Iterator[None]:
    """Put a commit, and what HEAD does not have of it, into the user's repository as one pack.

    The pack is protected until something points at it: `git gc` may run there at any time.
    """
    wanted = f"{commit}\n" if repository.head is None else f"{commit}\n^{repository.head}\n"
    reason = "--keep=Backtrail is making a branch"
    said = git.pipe(
        *("pack-objects", "--revs", "--stdout", "--quiet"),
        stdin=wanted.encode(),
        into=repository.git,
        command=("index-pack", "--stdin", reason),
    )
    kept, _, pack = said.decode().strip().partition("\t")
    try:
        yield
    finally:
        if kept == "keep":
            # Gone where `git gc` was about to replace a pack of the same objects: then they are in its new one.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(repository.objects, "pack", f"pack-{pack}.keep"))
