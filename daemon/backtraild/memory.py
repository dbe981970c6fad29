"""Memory that is free: shared by all threads, and given back to the system. Without glibc, nothing is done."""

import contextlib
import ctypes
import os

LARGE_PIECE = 1024 * 1024
# So much more than after the last attempt is worth another one; in a large process, such a part of it.
GROWTH, GROWTH_PART = 4 * 1024 * 1024, 16

# What is free in one arena is of no use to threads that have another. With nearly one a thread, as glibc makes them,
# six busy clients took 8 MB more; saves and restores were as fast with two.
ARENAS = 2

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h
_PAGE = os.sysconf("SC_PAGE_SIZE")


def keep_little() -> None:
    """Have the C library return large pieces as soon as they are free, and share what is left. Before other threads.

    Left to itself, glibc keeps up to 64 MB for later after a few large requests.
    """
    with contextlib.suppress(AttributeError):  # not glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, LARGE_PIECE)
        libc.mallopt(_M_ARENA_MAX, ARENAS)


class Trimmer:
    """Gives back small pieces, too, after there were very many: one that is in use keeps thousands that are not."""

    def __init__(self) -> None:
        self._least = _resident()  # since the last attempt

    def look(self) -> None:
        """Give back what is free, if the process has grown; where that was no use, not before it has grown again."""
        size = _resident()
        self._least = min(self._least, size)
        if size >= self._least + max(GROWTH, size // GROWTH_PART):
            _trim()
            self._least = _resident()


def _trim() -> None:
    with contextlib.suppress(AttributeError):  # not glibc
        ctypes.CDLL(None).malloc_trim(0)


def _resident() -> int:
    """The memory that the process has; nothing where the system does not tell."""
    with contextlib.suppress(OSError), open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE
    return 0
