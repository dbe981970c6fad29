"""Whether a store lies where it seems to: one that came from somebody else may lead out of its own folder."""

import contextlib
import os
import stat
from collections.abc import Iterator

from backtrail.errors import StoreFailed

_FOLDERS = ("", "gone", "objects", "objects/info", "objects/pack", "refs")
_HINT = "Backtrail makes no such store. If it came from somebody else, do not use it."


def refuse_ways_out(git_dir: str) -> None:
    """Refuse symbolic links in the place of folders, and objects that git would fetch from elsewhere.

    What is deleted, tidied up or written in the store would otherwise be so in a folder of the link's choice; and
    what git sends to a mirror would be more than what Backtrail itself can read here.
    """
    for folder in (*_FOLDERS, *_kinds_of_refs(git_dir)):
        path = os.path.join(git_dir, folder).rstrip("/")
        if os.path.islink(path):
            raise StoreFailed(f"The store's folder {path} is a symbolic link to {os.readlink(path)}.", _HINT)
    for path in _strange_refs(git_dir):
        raise StoreFailed(f"The store's reference {path} is not a file.", _HINT)
    alternates = os.path.join(git_dir, "objects", "info", "alternates")
    if os.path.lexists(alternates):
        raise StoreFailed(f"{alternates} lets the objects of the store lie elsewhere.", _HINT)


def _strange_refs(git_dir: str) -> Iterator[str]:
    """Refs that are links, FIFOs or the like: git, which runs on the store for a mirror, would wait there for ever."""
    packed = os.path.join(git_dir, "packed-refs")
    if os.path.lexists(packed) and not stat.S_ISREG(os.lstat(packed).st_mode):
        yield packed
    pending = [os.path.join(git_dir, "refs")]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                elif not entry.is_file(follow_symlinks=False):
                    yield entry.path


def _kinds_of_refs(git_dir: str) -> list[str]:
    try:
        return [f"refs/{name}" for name in os.listdir(os.path.join(git_dir, "refs"))]
    except OSError:
        return []
