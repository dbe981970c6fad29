"""Memory that is free and that the C library still holds: given back to the system. Without glibc, nothing is done."""

import contextlib
import ctypes
import os

LARGE_PIECE = 1024 * 1024
# So much more than ever before is worth an attempt.
GROWTH = 16 * 1024 * 1024
# Looks after which another attempt is made, however useless the last ones were.
MOST_SKIPPED = 100

_M_MMAP_THRESHOLD = -3  # of malloc.h
_PAGE = os.sysconf("SC_PAGE_SIZE")


def give_back_large_pieces() -> None:
    """Have the C library return large pieces as soon as they are free.

    Left to itself, glibc keeps up to 64 MB for later after a few large requests.
    """
    with contextlib.suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, LARGE_PIECE)


class Trimmer:
    """Gives back small pieces, too, after there were very many: one that is in use keeps thousands that are not."""

    def __init__(self) -> None:
        self._least = _resident()  # the smallest that the process was seen
        self._skipped = 0
        self._skipping = 0

    def look(self) -> None:
        """Give back what is free, if the process has grown; ever less often where that was no use."""
        size = _resident()
        self._least = min(self._least, size)
        if size < self._least + GROWTH:
            self._skipped = self._skipping = 0
        elif self._skipped < self._skipping:
            self._skipped += 1
        else:
            _trim()
            self._skipped, self._skipping = 0, min(2 * self._skipping + 1, MOST_SKIPPED)


def _trim() -> None:
    with contextlib.suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def _resident() -> int:
    """The memory that the process has; nothing where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE
    return 0
