"""Files that nobody needs any more: moved out of sight at once, and unlinked by whoever has the time.

While others sync their files, unlinking one that was synced takes a millisecond or two, and saves would wait for
thousands of them. Moving it takes a twentieth of that.
"""

import contextlib
import os
import secrets
import threading
from collections.abc import Iterable

FOLDER = "gone"


def put(git_dir: str, paths: Iterable[str]) -> None:
    """Move files there, one after the other; what can't be moved, because the disk is full or so, is unlinked."""
    folder = os.path.join(git_dir, FOLDER)
    with contextlib.suppress(OSError):
        os.mkdir(folder, 0o700)
    for path in paths:
        try:
            os.rename(path, os.path.join(folder, secrets.token_hex(8)))
        except OSError:
            _unlink(path)


def size(git_dir: str) -> int:
    """The bytes that are still to be given back."""
    with contextlib.suppress(FileNotFoundError), os.scandir(os.path.join(git_dir, FOLDER)) as entries:
        return sum(_size(entry) for entry in entries)
    return 0


def sweep(git_dir: str) -> None:
    """Unlink them all. Harmless when there is nothing, and when it is not finished."""
    folder = os.path.join(git_dir, FOLDER)
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            _unlink(os.path.join(folder, name))


def sweep_soon(git_dir: str) -> None:
    """The same in a thread that nobody waits for."""
    if os.path.isdir(os.path.join(git_dir, FOLDER)):
        threading.Thread(target=_sweep_if_possible, args=(git_dir,), name="sweep", daemon=True).start()


def _sweep_if_possible(git_dir: str) -> None:
    with contextlib.suppress(OSError):  # what stays is tried again by upkeep and at the next start
        sweep(git_dir)


def _size(entry: "os.DirEntry[str]") -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:  # it is being swept
        return 0


def _unlink(path: str) -> None:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        os.unlink(path)
