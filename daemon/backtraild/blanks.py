"""Empty files, made before they are needed: whoever waits for an answer does not wait for a file system to make them.

That can take most of the time of a save: ext4 without a journal looks at every inode that was given back in the last
minutes before it gives one out. After 15,000 deletions, the files of a save took 2.5 ms; made ahead, they take 0.9.
"""

import contextlib
import os
import secrets
from typing import NamedTuple

PREFIX = "blank-"
MOST = 32

_MADE_WITH = 0o600
_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


class Blank(NamedTuple):
    """A file without content, and without a name that means anything; whoever takes it closes and renames it.

    A lasting one has that name after a power cut, too.
    """

    descriptor: int
    path: str
    is_lasting: bool = False


class Blanks:
    """Those of one folder. None is made ahead before the first was taken: a folder that is only read stays as it is."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._ready: list[str] = []
        self._lasting: frozenset[str] = frozenset()
        self._taken = self._wanted = 0

    def take(self, mode: int) -> Blank:
        """One of those that are ready, or a new one."""
        self._taken += 1
        while self._ready:
            path = self._ready[-1]  # where it can't be opened now, it is there for the next one
            with contextlib.suppress(FileNotFoundError):  # somebody tidied up
                found = _with_mode(Blank(os.open(path, _FLAGS), path, path in self._lasting), mode)
                self._ready.pop()
                return found
            self._ready.pop()
        path = self._new_path()
        return Blank(os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, mode), path)

    def restock(self) -> bool:
        """Make as many as were taken at the most since the last time, as far as the disk lets us; False if none."""
        self._wanted = min(MOST, max(self._wanted, self._taken))
        self._taken, before = 0, len(self._ready)
        with contextlib.suppress(OSError):
            while len(self._ready) < self._wanted:
                path = self._new_path()
                os.close(os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, _MADE_WITH))
                self._ready.append(path)
        return len(self._ready) > before

    def last(self) -> None:
        """The folder has been synced: those that are ready keep their names."""
        self._lasting = frozenset(self._ready)

    def discard(self) -> None:
        """Leave none behind."""
        while self._ready:
            with contextlib.suppress(OSError):
                os.unlink(self._ready.pop())

    def _new_path(self) -> str:
        return os.path.join(self._folder, PREFIX + secrets.token_hex(8))


def leftovers(folder: str) -> list[str]:
    """Those that a killed process has left, used or not. The caller makes sure that nobody uses the folder."""
    return [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(PREFIX)]


def _with_mode(blank: Blank, mode: int) -> Blank:
    """Not earlier: nobody but root could open a file for writing that is read-only by then."""
    try:
        if mode != _MADE_WITH:
            os.fchmod(blank.descriptor, mode)
    except BaseException:
        os.close(blank.descriptor)
        raise
    return blank
