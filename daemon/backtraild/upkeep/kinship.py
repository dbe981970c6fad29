"""Which objects are likely to resemble each other: thirteen bytes of memory for each object of a catalogue.

Versions at the same path do most of all, each the one before it; then files of the same name in folders of the same
name, as when a project lies in a folder twice; then files whose names end alike.
"""

import zlib
from array import array
from collections.abc import Iterable
from functools import lru_cache

from backtraild.store.objects import ObjectType

# The rest of 32 is for the folder's name; what is taken for kin by mistake turns out not to be.
_PATH_BITS = 20
_TELLING = 16  # characters at the end of a name


class Kinship:
    """By position in a catalogue: an object's type, name and path, and the order in which objects came up."""

    def __init__(self, count: int) -> None:
        self._kinds = bytearray(count)
        self._names = array("I", bytes(4 * count))
        self._paths = array("I", bytes(4 * count))
        self._ages = array("I", bytes(4 * count))
        self._noted = 0

    def note(self, position: int, kind: ObjectType, name: bytes, folder: int) -> None:
        """An object has come up, the older ones first. `folder` is the number of what it lies in."""
        self._kinds[position] = kind
        self._names[position] = _name_number(name)
        path = folder_number(name, folder) & (1 << _PATH_BITS) - 1
        self._paths[position] = folder >> _PATH_BITS << _PATH_BITS | path
        self._ages[position] = self._noted
        self._noted += 1

    def kind(self, position: int) -> ObjectType:
        """The type that whatever leads to an object takes it for."""
        return ObjectType(self._kinds[position])

    def are_versions(self, one: int, other: int) -> bool:
        """Are these two the same file or folder at different times?"""
        return self._names[one] == self._names[other] and self._paths[one] == self._paths[other]

    def ordered(self, positions: Iterable[int]) -> "array[int]":
        """Kin beside each other, the older ones first."""
        return array("I", sorted(positions, key=self._key))

    def _key(self, position: int) -> int:
        kind, name = self._kinds[position], self._names[position]
        return ((kind << 32 | name) << 32 | self._paths[position]) << 32 | self._ages[position]


def folder_number(name: bytes, outer: int) -> int:
    """A number that stands for a folder: for its name in the higher bits, for its whole path in the others."""
    path = zlib.crc32(name + b"/", outer) & (1 << _PATH_BITS) - 1
    return zlib.crc32(name) >> _PATH_BITS << _PATH_BITS | path


@lru_cache(10_000)
def _name_number(name: bytes) -> int:
    """The last characters weigh most, as in git: `a_test.py` and `b_test.py` are neighbours."""
    number = 0
    for character in name[-_TELLING:]:
        number = (number >> 2) + (character << 24) & 0xFFFF_FFFF
    return number
