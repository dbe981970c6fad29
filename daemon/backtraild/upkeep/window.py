"""The objects that went into a pack last, of which the next one may be a small change.

Kin come one after another, so the best base for an object is nearly always among the few before it.
"""

from collections import deque
from collections.abc import Iterator

from msgspec import Struct

from backtrail.errors import StoreDamaged
from backtraild.store.delta import apply_delta
from backtraild.store.objects import ObjectType
from backtraild.store.reader import Objects
from backtraild.upkeep.catalogue import Catalogue
from backtraild.upkeep.differing import Material, make_delta
from backtraild.upkeep.kinship import Kinship
from backtraild.upkeep.listing import LARGEST_SQUEEZED
from backtraild.upkeep.sources import Sources

# Deltas one after another: what is read is made of all of them. As many as in git, but commits are read all the time.
DEEPEST = {ObjectType.COMMIT: 20, ObjectType.TREE: 50, ObjectType.BLOB: 50}


_OBJECTS = 10
_BYTES = 8 * 1024 * 1024  # of contents, in memory
_SMALL_COMMIT = 4096  # bytes: nearly all are
_TRIED = 2  # of the objects that have most in common with one, whatever their paths


class _Entry(Struct):
    position: int
    material: Material | None  # read when it is needed


class Told(Struct, frozen=True):
    """An object as a change of another one."""

    base: int  # its position
    delta: bytes


class Window:
    """Positions are those in the catalogue. Contents are checked against their ids."""

    def __init__(
        self, objects: Objects, catalogue: Catalogue, kinship: Kinship, sources: Sources, depths: bytearray
    ) -> None:
        """`depths` tells how many deltas one after another make each object of the new pack."""
        self._objects = objects
        self._catalogue = catalogue
        self._kinship = kinship
        self._sources = sources
        self._depths = depths
        self._heights = sources.heights()
        self._entries: deque[_Entry] = deque(maxlen=_OBJECTS)

    def add(self, position: int, material: Material | None = None) -> None:
        """An object has gone into the pack; what follows may be told as a change of it."""
        self._entries.append(_Entry(position, material))
        self._stay_small()

    def has_candidate(self, position: int) -> bool:
        """Is there anything that an object may be told as a change of, and was not in an earlier merge?"""
        return bool(self._eligible(position))

    def told(self, position: int, target: Material) -> Told | None:
        """An object as a small change of another one, if there is one that is like it."""
        best: Told | None = None
        for entry in self._promising(position, target):
            delta = _delta(entry.material, target) if entry.material else None
            if delta is not None and (best is None or len(delta) < len(best.delta)):
                best = Told(entry.position, delta)
                if len(delta) < 64 + len(target.content) // 32:
                    break
        return best

    def _eligible(self, position: int) -> list[_Entry]:
        """The nearest first."""
        kind = self._kinship.kind(position)
        deepest = DEEPEST[kind] - 1 - self._heights[position]
        return [
            entry
            for entry in reversed(self._entries)
            if self._depths[entry.position] <= deepest
            and self._kinship.kind(entry.position) == kind
            and not self._sources.have_met(position, entry.position)
        ]

    def _promising(self, position: int, target: Material) -> Iterator[_Entry]:
        """The version before, then those that have most in common with it."""
        others: list[_Entry] = []
        for at, entry in enumerate(self._eligible(position)):
            if not self._read(entry):
                continue
            if at == 0 and self._kinship.are_versions(position, entry.position):
                yield entry
            else:
                others.append(entry)
        shared = {entry.position: entry.material.shared(target) for entry in others if entry.material}
        others.sort(key=lambda entry: shared[entry.position], reverse=True)
        yield from (entry for entry in others[:_TRIED] if shared[entry.position])

    def _read(self, entry: _Entry) -> bool:
        """Is its content at hand? What can't be read is no base; whether it is damaged is found out elsewhere."""
        if entry.material is None:
            oid, kind = self._catalogue.id_at(entry.position), self._kinship.kind(entry.position)
            try:
                if self._objects.size(oid) > LARGEST_SQUEEZED:
                    return False
                entry.material = material(kind, self._objects.read(oid, kind))
            except StoreDamaged:
                return False
            self._stay_small()
        return True

    def _stay_small(self) -> None:
        sizes = [len(entry.material.content) if entry.material else 0 for entry in self._entries]
        size = sum(sizes)
        for each in sizes[:-1]:
            if size <= _BYTES:
                break
            self._entries.popleft()
            size -= each


def _delta(base: Material, target: Material) -> bytes | None:
    """A delta that was tried out: the whole object will be gone."""
    delta = make_delta(base, target)
    if delta is not None and apply_delta(base.content, delta) != target.content:
        raise RuntimeError("a delta makes something else than it was made from")
    return delta


def material(kind: ObjectType, content: bytes) -> Material:
    """A content as deltas are made of it: files line by line, trees entry by entry."""
    if kind == ObjectType.COMMIT:  # one long line of JSON tells most of it
        return Material(content, b"" if len(content) <= _SMALL_COMMIT else b",")
    return Material(content, b"\0" if kind == ObjectType.TREE else b"\n")
