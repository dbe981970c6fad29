"""All objects of some packs, each once, and which of them are needed: some twenty bytes of memory for each."""

import os
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate

from backtraild.model import ObjectId
from backtraild.store.indexes import PackIndex
from backtraild.store.objects import ID_LENGTH

SORTED_AT_ONCE = 400_000  # ids: as objects of their own they take more than four times the memory
NOWHERE = -1

_BUCKETS = 1 << 16


class Catalogue:
    """The ids in the packs of a folder, sorted. An object's position is its place in that order."""

    def __init__(self, folder: str, names: Sequence[str]) -> None:
        self._ids = b"".join(_sorted_ids(folder, names))
        self.marks = bytearray(len(self._ids) // ID_LENGTH)
        counts = [0] * (_BUCKETS + 1)
        for high, low in zip(self._ids[::ID_LENGTH], self._ids[1::ID_LENGTH], strict=True):
            counts[(high << 8 | low) + 1] += 1
        self._buckets = array("Q", accumulate(counts))

    def __len__(self) -> int:
        return len(self.marks)

    def position(self, oid: ObjectId) -> int:
        """Where an object stands; NOWHERE if it is in none of the packs."""
        bucket = oid[0] << 8 | oid[1]
        at, end = self._buckets[bucket] * ID_LENGTH, self._buckets[bucket + 1] * ID_LENGTH
        at = self._ids.find(oid, at, end)
        while at > 0 and at % ID_LENGTH:  # found across two ids
            at = self._ids.find(oid, at + 1, end)
        return at // ID_LENGTH

    def positions(self, ids: bytes) -> Iterator[int]:
        """Where objects stand whose ids follow each other."""
        for at in range(0, len(ids), ID_LENGTH):
            yield self.position(ids[at : at + ID_LENGTH])

    def id_at(self, position: int) -> ObjectId:
        """The object that stands there."""
        return self._ids[position * ID_LENGTH : (position + 1) * ID_LENGTH]


def _sorted_ids(folder: str, names: Sequence[str]) -> Iterator[bytes]:
    """All ids in order, in pieces."""
    counts = [PackIndex(os.path.join(folder, name + ".idx")).count for name in names]
    step = max(1, 256 * SORTED_AT_ONCE // max(sum(counts), SORTED_AT_ONCE))
    for first in range(0, 256, step):
        found: set[bytes] = set()
        for name in names:
            ids = PackIndex(os.path.join(folder, name + ".idx")).ids(first, min(255, first + step - 1))
            found.update(ids[at : at + ID_LENGTH] for at in range(0, len(ids), ID_LENGTH))
        yield b"".join(sorted(found))
