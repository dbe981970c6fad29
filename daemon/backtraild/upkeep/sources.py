"""What goes into a merge, and where in the old packs it lies: some forty bytes of memory for each object."""

import os
import zlib
from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping

from backtrail.errors import StoreDamaged
from backtraild.store.indexes import File
from backtraild.store.packs import DAMAGE, Head, decode_entry
from backtraild.upkeep.catalogue import NOWHERE, Catalogue
from backtraild.upkeep.listing import Listing

OPEN_PACKS = 64
PIECE = 1024 * 1024

_TALLEST = 255


class PackDamaged(Exception):
    """Something in a pack is not what was stored."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Sources:
    """Objects by their position in the catalogue, each from the first pack that has it. May raise PackDamaged."""

    def __init__(self, folder: str, catalogue: Catalogue, kept: Mapping[str, bytearray]) -> None:
        """`kept` tells, by place, which objects of each pack go into the merge."""
        self._folder = folder
        self._catalogue = catalogue
        self._names = list(kept)
        self._packs = array("H", bytes(2 * len(catalogue)))
        self._starts = array("Q", bytes(8 * len(catalogue)))
        self._ends = array("Q", bytes(8 * len(catalogue)))
        self._checksums = array("I", bytes(4 * len(catalogue)))
        self._bases = array("q", [NOWHERE]) * len(catalogue)
        self._files: OrderedDict[int, File] = OrderedDict()
        self._settled = bytearray(len(self._names))  # packs in which everything was tried with everything
        # Of all that go into the merge, in the order in which they lie in the packs.
        self.positions = array("I")
        for number, (name, flags) in enumerate(kept.items()):
            try:
                self._choose(number, Listing(folder, name), flags)
            except (*DAMAGE, StoreDamaged) as error:
                raise PackDamaged(name) from error

    def __contains__(self, position: int) -> bool:
        return self._starts[position] > 0

    def base(self, position: int) -> int:
        """The object that this one is told as a change of, whether that is in the merge or not; else NOWHERE."""
        return self._bases[position]

    def pack(self, position: int) -> str:
        """The name of the pack that an object is taken from."""
        return self._names[self._packs[position]]

    def have_met(self, one: int, other: int) -> bool:
        """Was it tried in an earlier merge to tell the first of these, which stands whole, as a change of the other?"""
        pack = self._packs[one]
        return pack == self._packs[other] and self._settled[pack] > 0 and self._bases[one] == NOWHERE

    def size(self, position: int) -> int:
        """How many bytes an object takes in its pack."""
        return self._ends[position] - self._starts[position]

    def head(self, position: int) -> Head:
        """What stands before the deflated bytes of an object. May raise one of `DAMAGE`."""
        return decode_entry(self._file(position), self._starts[position])

    def deflated(self, position: int) -> bytes:
        """What follows that. May raise one of `DAMAGE`."""
        whole = b"".join(self.pieces(position))
        return whole[self.head(position).start - self._starts[position] :]

    def pieces(self, position: int) -> Iterator[bytes]:
        """An object as it lies in its pack; in the end, one of `DAMAGE` if it is not what was written."""
        checksum, file = 0, self._file(position)
        at, end = self._starts[position], self._ends[position]
        while at < end:
            piece = file.read(min(PIECE, end - at), at)
            if not piece:
                raise ValueError("it is cut off")
            checksum = zlib.crc32(piece, checksum)
            at += len(piece)
            yield piece
        if checksum != self._checksums[position]:
            raise ValueError("its checksum is wrong")

    def heights(self) -> bytearray:
        """By position: how many deltas one after another are told as changes of an object."""
        heights = bytearray(len(self._bases))
        for position in reversed(self.positions):
            base = self._bases[position]
            if base != NOWHERE:
                heights[base] = max(heights[base], min(heights[position] + 1, _TALLEST))
        return heights

    def _choose(self, number: int, listing: Listing, flags: bytearray) -> None:
        self._settled[number] = not listing.is_hasty
        for rank, place in enumerate(listing.by_offset):
            position = self._catalogue.position(listing.id_at(place)) if flags[place] else NOWHERE
            if position == NOWHERE or position in self:
                continue
            base = listing.base(place)
            self._packs[position] = number
            self._starts[position] = listing.offsets[place]
            self._ends[position] = listing.end_of(rank)
            self._checksums[position] = listing.checksums[place]
            self._bases[position] = NOWHERE if base is None else self._catalogue.position(listing.id_at(base))
            self.positions.append(position)

    def _file(self, position: int) -> File:
        number = self._packs[position]
        if number not in self._files:
            self._files[number] = File(os.path.join(self._folder, self._names[number] + ".pack"))
            if len(self._files) > OPEN_PACKS:
                self._files.popitem(last=False)
        return self._files[number]
