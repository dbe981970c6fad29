"""How the files of some folders look, in the system's own bytes: no value of Python is made of any of them.

What differs from file to file is told apart in one digest for a folder. To look at a file that way takes two thirds of
what `os.lstat` and a comparison of its result take.
"""

import ctypes
import os
import sys
from collections.abc import Iterable
from typing import Any

from backtraild.layout import PROOF_BYTES

try:  # behind `hashlib`, which loads OpenSSL first, for as long as it takes to look at a thousand files
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

# With more files at once, as in folders of very many, each is looked at by itself.
MOST = 65_536

# A `struct stat` in words of eight bytes, as both of these have it. Those that tell a changed file from an unchanged
# one: its inode, its size, and the seconds and nanoseconds of its last modification and its last change.
_MACHINES = ("x86_64", "aarch64")
_WORDS = 18
_STAT_BYTES = 8 * _WORDS
_TELLING = (1, 6, 11, 12, 13, 14)
_TOLD_BYTES = 8 * len(_TELLING)


# A folder to be looked at: what stands before its names in a path, the names that have rows, and these rows.
Shown = tuple[bytes, list[bytes], list[bytes]]


class Sights:
    """Room for those of a stretch of folders, used again and again."""

    def __init__(self) -> None:
        self._room = bytearray()
        self._told = bytearray()
        self._lstat = _lstat()
        if not self._is_understood():
            self._lstat = None

    def proofs(self, folders: Iterable[Shown]) -> list[bytes | None]:
        """For each folder what no other sights of it and its files have, beside no other rows.

        None where one of them is gone, or where there can be no proof. Paths lead on from the present folder.
        """
        paths: list[bytes] = []
        parts: list[tuple[int, int, list[bytes]]] = []
        for ahead, names, rows in folders:
            first = len(paths)
            paths.append(ahead[:-1] or b".")
            paths += [ahead + name for name in names]
            parts.append((first, len(paths), rows))
        answers = self._taken(paths)
        if answers is None:
            return [None] * len(parts)
        told = self._gathered(len(paths))
        are_there = not any(answers)
        return [
            _proof(told[first * _TOLD_BYTES : end * _TOLD_BYTES], rows)
            if are_there or not any(answers[first:end])
            else None
            for first, end, rows in parts
        ]

    def _taken(self, paths: list[bytes]) -> list[int] | None:
        """Look at all of these; what the system answered for each. None if it can't be asked for so many."""
        if self._lstat is None or len(paths) > MOST:
            return None
        size = _STAT_BYTES * len(paths)
        if size > len(self._room):
            self._room, self._told = bytearray(size), bytearray(_TOLD_BYTES * len(paths))
        place = ctypes.addressof(ctypes.c_char.from_buffer(self._room))
        return list(map(self._lstat, paths, range(place, place + size, _STAT_BYTES)))

    def _gathered(self, count: int) -> memoryview:
        """What tells of them."""
        words, told = memoryview(self._room).cast("Q"), memoryview(self._told)
        numbers = told.cast("Q")
        for place, word in enumerate(_TELLING):
            numbers[place : count * len(_TELLING) : len(_TELLING)] = words[word : count * _WORDS : _WORDS]
        return told

    def _is_understood(self) -> bool:
        """Does the system write what it is expected to write, where it is expected?"""
        if self._taken([b"/"]) != [0]:
            return False
        inode, size, *times = self._gathered(1)[:_TOLD_BYTES].cast("Q")
        root = os.lstat(b"/")
        expected = (*divmod(root.st_mtime_ns, 10**9), *divmod(root.st_ctime_ns, 10**9))
        return (inode, size, *times) == (root.st_ino, root.st_size, *expected)


def _proof(told: memoryview, rows: list[bytes]) -> bytes:
    digest = blake2b(told, digest_size=PROOF_BYTES)
    for row in rows:
        digest.update(row)
    return digest.digest()


def _lstat() -> Any:
    """The system's own; None on a machine where its answer is laid out in another way, or that has none."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES:
        return None
    # A scout has one thread: nobody waits for the interpreter while the system looks.
    found = getattr(ctypes.PyDLL(None), "lstat", None)  # the GNU library has it since version 2.33
    if found is not None:
        found.argtypes = ctypes.c_char_p, ctypes.c_void_p
    return found
