"""One pack as its index lists it: which objects lie in it, where each begins and ends, and its checksum."""

import os
from array import array
from bisect import bisect_left

from backtraild.store.indexes import File, PackIndex
from backtraild.store.objects import ID_LENGTH
from backtraild.store.packs import decode_entry
from backtraild.store.unpacking import HEADER, TRAILER, count_of

LARGEST_SQUEEZED = 4 * 1024 * 1024  # bytes: larger objects are copied as they are

_WITH_CARE = 0x80  # in the second byte of what was deflated, from the usual level on

INDEX_ENTRY = ID_LENGTH + 8  # what an object takes in an index: id, CRC, offset


def check(folder: str, name: str) -> None:
    """Raise one of `DAMAGE` unless pack and index belong together and the index is what was written."""
    index = PackIndex(os.path.join(folder, name + ".idx"))
    pack = File(os.path.join(folder, name + ".pack"))
    if not index.is_intact():
        raise ValueError("its index is damaged")
    if count_of(pack) != index.count or pack.read(TRAILER, pack.size - TRAILER) != index.pack_checksum:
        raise ValueError("it does not belong to its index")


class Listing:
    """Objects by their place, which is their rank among the ids of the pack. May raise one of `DAMAGE`."""

    def __init__(self, folder: str, name: str) -> None:
        self.name = name
        index = PackIndex(os.path.join(folder, name + ".idx"))
        self.file = File(os.path.join(folder, name + ".pack"))
        self.ids = index.ids()
        self.checksums, self.offsets = index.entries()
        self.by_offset = array("I", sorted(range(index.count), key=self.offsets.__getitem__))
        self._end = self.file.size - TRAILER

    def __len__(self) -> int:
        return len(self.offsets)

    @property
    def is_hasty(self) -> bool:
        """Was this pack written by a save, which has no time to make it small?

        Its first object tells: what upkeep writes, and git, begins with one that was deflated with care.
        """
        head = decode_entry(self.file, HEADER.size)
        return head.size <= LARGEST_SQUEEZED and not self.file.read(2, head.start)[1] & _WITH_CARE

    def id_at(self, place: int) -> bytes:
        """The object that has this place."""
        return self.ids[place * ID_LENGTH : (place + 1) * ID_LENGTH]

    def sizes(self) -> "array[int]":
        """The bytes of each object, by place, in the pack and in its index."""
        sizes = array("Q", bytes(8 * len(self)))
        end = self._end
        for place in reversed(self.by_offset):
            sizes[place] = end - self.offsets[place] + INDEX_ENTRY
            end = self.offsets[place]
        return sizes

    def end_of(self, rank: int) -> int:
        """Where the object ends that is the so many-th in the file."""
        return self.offsets[self.by_offset[rank + 1]] if rank + 1 < len(self) else self._end

    def place_at(self, offset: int) -> int:
        """The object that begins there; ValueError if none does."""
        rank = bisect_left(self.by_offset, offset, key=self.offsets.__getitem__)
        if rank == len(self) or self.offsets[self.by_offset[rank]] != offset:
            raise ValueError("a delta has no base")
        return self.by_offset[rank]

    def place_of(self, oid: bytes) -> int | None:
        """The place of an object; None if it is not in this pack."""
        rank = bisect_left(range(len(self)), oid, key=self.id_at)
        return rank if rank < len(self) and self.id_at(rank) == oid else None

    def base(self, place: int) -> int | None:
        """The place of the object that this one is told as a change of; None if it stands for itself."""
        offset = self.offsets[place]
        head = decode_entry(self.file, offset)
        if head.distance:
            return self.place_at(offset - head.distance)
        return None if head.base is None else self.place_of(head.base)
