"""Several packs become one, and small: what is kept goes over as it is, or as a change of something like it.

What is a delta already stays one. What a save wrote whole, and in haste, is tried as a delta of its kin and is deflated
with more care. All of it is checked: what is copied against its checksum, what is read against its id.
"""

import contextlib
import zlib
from collections.abc import Mapping

from backtrail.errors import StoreDamaged
from backtraild.model import ObjectId
from backtraild.store.objects import ObjectType
from backtraild.store.packed import encode_header
from backtraild.store.packs import DAMAGE, Head
from backtraild.store.reader import Objects
from backtraild.upkeep.catalogue import NOWHERE, Catalogue
from backtraild.upkeep.differing import Material
from backtraild.upkeep.kinship import Kinship
from backtraild.upkeep.listing import LARGEST_SQUEEZED
from backtraild.upkeep.newpack import NewPack
from backtraild.upkeep.sources import PackDamaged, Sources
from backtraild.upkeep.window import DEEPEST, Window, material

SMALLEST_TRIED = 50  # bytes: what is told as a change takes nearly as many

LONGEST_CHAIN = max(DEEPEST.values())

_WHOLE = frozenset(ObjectType)
_OFFSET_DELTA = 6
_LEVEL = 6  # as git; more takes three times as long for less than one part in a hundred
_DELTA_LEVEL = 9  # they are small
_WORTHWHILE = 0.8  # of the bytes of a whole object: a delta has its price when it is read


class Merger:
    """Makes packs out of packs, as temporary files beside them."""

    def __init__(self, folder: str, catalogue: Catalogue, objects: Objects, kinship: Kinship | None) -> None:
        """Without knowing which objects are kin, they are copied as they are."""
        self._folder = folder
        self._catalogue = catalogue
        self._objects = objects
        self._kinship = kinship

    def merge(self, kept: Mapping[str, bytearray]) -> str:
        """One pack of what is kept of each pack, by place; its temporary name. Raises PackDamaged."""
        sources = Sources(self._folder, self._catalogue, kept)
        pack = NewPack(self._folder, self._catalogue)
        try:
            _Merge(self._catalogue, self._objects, self._kinship, sources, pack).make()
            return pack.finish()
        except BaseException:
            pack.abandon()
            raise


class _Merge:
    def __init__(
        self,
        catalogue: Catalogue,
        objects: Objects,
        kinship: Kinship | None,
        sources: Sources,
        pack: NewPack,
    ) -> None:
        self._catalogue = catalogue
        self._objects = objects
        self._kinship = kinship
        self._sources = sources
        self._pack = pack
        self._depths = bytearray(len(catalogue))  # deltas one after another that make an object
        self._window = None if kinship is None else Window(objects, catalogue, kinship, sources, self._depths)

    def make(self) -> None:
        positions = self._sources.positions
        self._pack.begin(len(positions))
        for position in self._kinship.ordered(positions) if self._kinship else positions:
            for each in self._with_bases(position):
                try:
                    self._add(each)
                except (*DAMAGE, StoreDamaged) as error:
                    raise PackDamaged(self._sources.pack(each)) from error

    def _with_bases(self, position: int) -> list[int]:
        """An object and what it is a change of, directly or not, as far as that is still to be added; bases first."""
        chain: dict[int, None] = {}  # in a damaged pack they may go in a circle
        while position != NOWHERE and position in self._sources and position not in chain:
            if position in self._pack:
                break
            chain[position] = None
            position = self._sources.base(position)
        return list(reversed(chain))

    def _add(self, position: int) -> None:
        base, head = self._sources.base(position), self._sources.head(position)
        if base != NOWHERE and base in self._pack and self._depths[base] < LONGEST_CHAIN:
            self._add_delta(position, base, head.size, self._sources.deflated(position))
            self._remember(position)
        elif head.kind not in _WHOLE:
            self._add_anew(position, *self._read(self._catalogue.id_at(position)), copied=None)
        elif self._is_worth_a_try(position, head):
            kind = ObjectType(head.kind)
            content = self._objects.read(self._catalogue.id_at(position), kind)
            self._add_anew(position, kind, content, copied=self._sources.size(position))
        else:
            self._pack.add(position, self._sources.pieces(position))
            if SMALLEST_TRIED <= head.size <= LARGEST_SQUEEZED:
                self._remember(position)

    def _is_worth_a_try(self, position: int, head: Head) -> bool:
        """May an object that lies there whole become smaller?"""
        if self._window is None or not self._is_named_as(position, head.kind):
            return False
        if head.size > LARGEST_SQUEEZED:
            return False
        if self._pack.is_empty:
            return True
        is_new = not self._sources.have_met(position, position)
        return head.size >= SMALLEST_TRIED and (is_new or self._window.has_candidate(position))

    def _add_anew(self, position: int, kind: ObjectType, content: bytes, copied: int | None) -> None:
        """Add an object in the smallest form that is found; as it lies in its pack, it would take `copied` bytes."""
        # A delta has the type of its base: what is not what it is named as has no kin.
        has_kin = len(content) <= LARGEST_SQUEEZED and self._is_named_as(position, kind)
        target = material(kind, content) if has_kin else None
        if target and self._add_told(position, target, len(content) if copied is None else copied):
            return
        whole = encode_header(kind, len(content)) + zlib.compress(content, _LEVEL)
        # The first object of a pack tells that care was taken: see `Listing.is_hasty`.
        is_smaller = copied is None or len(whole) < copied or self._pack.is_empty
        self._pack.add(position, [whole] if is_smaller else self._sources.pieces(position))
        if target:
            self._remember(position, target)

    def _add_told(self, position: int, target: Material, whole: int) -> bool:
        """Add an object as a change of another one, if that takes clearly less than so many bytes."""
        told = self._window.told(position, target) if self._window else None
        if told is None:
            return False
        deflated = zlib.compress(told.delta, _DELTA_LEVEL)
        if len(deflated) > _WORTHWHILE * whole:
            return False
        self._add_delta(position, told.base, len(told.delta), deflated)
        self._remember(position, target)
        return True

    def _is_named_as(self, position: int, kind: int) -> bool:
        return self._kinship is not None and self._kinship.kind(position) == kind

    def _add_delta(self, position: int, base: int, size: int, deflated: bytes) -> None:
        distance = _encode_distance(self._pack.distance(base))
        self._pack.add(position, [encode_header(_OFFSET_DELTA, size) + distance + deflated])
        self._depths[position] = self._depths[base] + 1

    def _remember(self, position: int, target: Material | None = None) -> None:
        if self._window is not None:
            self._window.add(position, target)

    def _read(self, oid: ObjectId) -> tuple[ObjectType, bytes]:
        """An object of whatever type."""
        for kind in ObjectType:
            with contextlib.suppress(StoreDamaged):
                return kind, self._objects.read(oid, kind)
        raise StoreDamaged(f"Object {oid.hex()} in the store can't be read.")


def _encode_distance(distance: int) -> bytes:
    """Seven bits a byte, the high ones first; each further byte stands for one more."""
    encoded = bytearray([distance & 0x7F])
    while distance := distance >> 7:
        distance -= 1
        encoded.append(0x80 | distance & 0x7F)
    return bytes(reversed(encoded))
