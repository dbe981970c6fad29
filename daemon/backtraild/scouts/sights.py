"""How the files of some folders look, in the system's own bytes: no value of Python is made of any of them.

Whoever compares them does it by one digest for a folder. To look at a file that way takes two thirds of what `os.lstat`
and a comparison of its result take.
"""

import ctypes
import os
import sys
from collections.abc import Sequence
from itertools import accumulate, chain, pairwise
from typing import Any

# With more files at once, as in folders of very many, each is looked at by itself.
MOST = 65_536

# A `struct stat` in words of eight bytes, as both of these have it. Those that tell a changed file from an unchanged
# one: its inode, its size, and the seconds and nanoseconds of its last modification and its last change.
_MACHINES = ("x86_64", "aarch64")
_WORDS = 18
_STAT_BYTES = 8 * _WORDS
_TELLING = (1, 6, 11, 12, 13, 14)
_TOLD_BYTES = 8 * len(_TELLING)


class Sights:
    """Room for those of a stretch of folders, used again and again."""

    def __init__(self) -> None:
        self._places: list[Any] = []  # in there, as the system is told where to write
        self._told = memoryview(b"")
        self._lstat = _lstat()
        if not self._is_understood():
            self._lstat = None

    def of(self, folders: Sequence[list[bytes]]) -> list[memoryview | None]:
        """For each of the lists of paths, as of a folder and its files, what tells it from whatever it may become.

        None where one of them is gone, or where nothing can be told. It holds until the next ones are looked at.
        """
        paths = [path for folder in folders for path in folder]
        answers = self._taken(paths)
        if answers is None:
            return [None] * len(folders)
        told = self._gathered(len(paths))
        ends = accumulate(map(len, folders))
        are_there = not any(answers)
        return [
            told[first * _TOLD_BYTES : end * _TOLD_BYTES]
            if are_there or not any(answers[first:end])
            else None
            for first, end in pairwise(chain((0,), ends))
        ]

    def _taken(self, paths: list[bytes]) -> list[int] | None:
        """Look at all of these; what the system answered for each. None if it can't be asked for so many."""
        if self._lstat is None or len(paths) > MOST:
            return None
        if len(paths) > len(self._places):
            self._make_room(len(paths))
        return list(map(self._lstat, paths, self._places))

    def _make_room(self, count: int) -> None:
        room = ctypes.create_string_buffer(_STAT_BYTES * count)
        self._places = [ctypes.byref(room, at) for at in range(0, len(room), _STAT_BYTES)]
        self._words = memoryview(room).cast("B").cast("Q")
        self._told = memoryview(bytearray(_TOLD_BYTES * count))

    def _gathered(self, count: int) -> memoryview:
        """What tells of them."""
        numbers = self._told.cast("Q")
        for place, word in enumerate(_TELLING):
            numbers[place : count * len(_TELLING) : len(_TELLING)] = self._words[
                word : count * _WORDS : _WORDS
            ]
        return self._told

    def _is_understood(self) -> bool:
        """Does the system write what it is expected to write, where it is expected?"""
        if self._taken([b"/"]) != [0]:
            return False
        inode, size, *times = self._gathered(1)[:_TOLD_BYTES].cast("Q")
        root = os.lstat(b"/")
        expected = (*divmod(root.st_mtime_ns, 10**9), *divmod(root.st_ctime_ns, 10**9))
        return (inode, size, *times) == (root.st_ino, root.st_size, *expected)


def _lstat() -> Any:
    """The system's own; None on a machine where its answer is laid out in another way, or that has none."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES:
        return None
    # A scout has one thread: nobody waits for the interpreter while the system looks.
    return getattr(ctypes.PyDLL(None), "lstat", None)  # the GNU library has it since version 2.33
