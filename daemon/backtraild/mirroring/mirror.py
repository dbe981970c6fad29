"""Mirroring a store: which refs go to the remote, all of them or none, and what came of each."""

import re
from collections.abc import Callable, Iterable

from msgspec import Struct

from backtrail.errors import MirrorFailed
from backtraild.mirroring import git
from backtraild.mirroring.remote import check, shown, without_secret

_CHECKPOINTS = "refs/checkpoints/"
# A checkpoint never changes, so one that differs at the remote is another folder's: it is not overwritten. What
# the others point at is replaced as time goes on. Files that are about to become refs are left out.
_REFSPECS = (
    f"{_CHECKPOINTS}*:{_CHECKPOINTS}*",
    *(f"+refs/{name}/*:refs/{name}/*" for name in ("pinned", "sessions", "transcripts", "backtrail")),
    "^refs/*.tmp",
)
_OPTIONS = ("--porcelain", "--atomic", "--no-progress")
_ROW = re.compile(r"([ +*=!-])\t[^:\t]*:(refs/[^\t]+)\t(.*)")
_LOCKED = re.compile(r"Unable to create '([^'\n]+\.lock)': File exists")
_LINES_TOLD = 4


class Mirroring(Struct, frozen=True):
    """The refs that were sent, by what they were to the remote, and how many it had already."""

    remote: str
    new: tuple[str, ...]
    updated: tuple[str, ...]
    deleted: tuple[str, ...]
    up_to_date: int


class _Row(Struct, frozen=True):
    """What came of one ref, in git's words."""

    sign: str
    ref: str
    told: str


def mirror(
    git_dir: str,
    remote: str,
    *,
    dry_run: bool = False,
    delete: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Mirroring:
    """Have the remote hold what the store holds: either all refs are written there, or none is.

    What is gone from the store stays at the remote, unless `delete` is given. Branches, tags and all other refs of
    the remote are never touched. May be called in any thread: the store's own goes on meanwhile.
    """
    check(remote)
    wanted = ("--dry-run",) * dry_run + ("--prune",) * delete
    ended = git.run(git_dir, "push", *_OPTIONS, *wanted, "--", remote, *_REFSPECS, stop=stop)
    rows = [_Row(*match.groups()) for match in map(_ROW.fullmatch, ended.out.split("\n")) if match]
    if ended.status:
        raise _failed(shown(remote), rows, ended.err)
    return Mirroring(
        shown(remote),
        new=_signed("*", rows),
        updated=_signed("+ ", rows),
        deleted=_signed("-", rows),
        up_to_date=len(_signed("=", rows)),
    )


def _signed(signs: str, rows: Iterable[_Row]) -> tuple[str, ...]:
    return tuple(row.ref for row in rows if row.sign in signs)


def _failed(remote: str, rows: list[_Row], said: str) -> MirrorFailed:
    refused = [row for row in rows if row.sign == "!" and "atomic push fail" not in row.told]
    ours = [row.ref for row in refused if row.told.startswith("[rejected]")]
    if ours:
        number = ours[0].removeprefix(_CHECKPOINTS)
        return MirrorFailed(
            f"{remote} has another checkpoint {number}, so it is not a mirror of this workspace.",
            "Nothing was changed there. Give every workspace a repository of its own.",
        )
    if locked := _LOCKED.search(said):
        return MirrorFailed(
            f"{remote} is locked: {locked[1]} is there, of a git that is at work or was interrupted.",
            "Try again in a moment. If no git is at work there, delete that file.",
        )
    words = "; ".join([*_words(said), *(f"{row.ref} {row.told}" for row in refused[:1])])
    return MirrorFailed(
        f"{remote} could not be made a mirror: {words or 'git did not say why'}.",
        "Git runs in the daemon, which can't answer questions: the remote must exist, and need no password.",
    )


def _words(said: str) -> list[str]:
    """The last lines before git begins to advise."""
    lines = [line.strip(" .\r") for line in without_secret(said).strip().split("\n\n")[0].split("\n")]
    return [line for line in lines if line][-_LINES_TOLD:]
