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

# With more files at once, as in a folder of thousands, each is looked at by itself.
MOST = 8192

# A `struct stat` in words of eight bytes, as both of these have it. Those that tell a changed file from an unchanged
# one: its inode, its size, and the seconds and nanoseconds of its last modification and its last change.
_MACHINES = ("x86_64", "aarch64")
_WORDS = 18
_TELLING = (1, 6, 11, 12, 13, 14)
_TOLD_BYTES = 8 * len(_TELLING)


class Sights:
    """Room for some thousands of them, used again and again."""

    def __init__(self) -> None:
        self._room = ctypes.create_string_buffer(8 * _WORDS * MOST)
        self._words = memoryview(self._room).cast("B").cast("Q")
        self._places: list[Any] = []  # for one file each, as the system is told where to write
        self._taken = 0
        self._told = memoryview(bytearray(_TOLD_BYTES * MOST))
        self._lstat = _lstat()
        if not self._is_understood():
            self._lstat = None

    def clear(self) -> None:
        """Forget all of them."""
        self._taken = 0

    def take(self, names: list[bytes]) -> slice | None:
        """Look at these in the present folder; where in here that is. None if one is gone, or there is no room."""
        first, end = self._taken, self._taken + len(names)
        if self._lstat is None or end > MOST:
            return None
        while len(self._places) < end:
            self._places.append(
                (ctypes.c_uint64 * _WORDS).from_buffer(self._room, 8 * _WORDS * len(self._places))
            )
        if any(map(self._lstat, names, self._places[first:end])):
            return None
        self._taken = end
        return slice(first, end)

    def gather(self) -> None:
        """Put together what tells of all that were taken."""
        told, end = self._told.cast("Q"), self._taken
        for place, word in enumerate(_TELLING):
            told[place : end * len(_TELLING) : len(_TELLING)] = self._words[word : end * _WORDS : _WORDS]

    def proof(self, taken: slice, rows: Iterable[bytes]) -> bytes:
        """What no other sights have beside no other rows. They have been gathered."""
        told = self._told[taken.start * _TOLD_BYTES : taken.stop * _TOLD_BYTES]
        digest = blake2b(told, digest_size=PROOF_BYTES)
        for row in rows:
            digest.update(row)
        return digest.digest()

    def _is_understood(self) -> bool:
        """Does the system write what it is expected to write, where it is expected?"""
        taken = self.take([b"/"])
        self.clear()
        if taken is None:
            return False
        inode, size, *times = (self._words[word] for word in _TELLING)
        root = os.lstat(b"/")
        expected = (*divmod(root.st_mtime_ns, 10**9), *divmod(root.st_ctime_ns, 10**9))
        return (inode, size, *times) == (root.st_ino, root.st_size, *expected)


def _lstat() -> Any:
    """The system's own; None on a machine where its answer is laid out in another way, or that has none."""
    if sys.platform != "linux" or os.uname().machine not in _MACHINES:
        return None
    return getattr(ctypes.CDLL(None), "lstat", None)  # the GNU library has it since version 2.33
