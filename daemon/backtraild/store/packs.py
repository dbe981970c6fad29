"""Reading objects out of packs, deltas undone.

This is Python on purpose. libgit2's pack reader ends the process when an offset in an index leads beyond its
pack, and turns for ever in a circle of deltas, with the interpreter locked: one flipped bit on the disk would
stop the daemon at every start. Here the worst that damaged bytes can do is an exception.
"""

import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from backtraild.model import ObjectId
from backtraild.store import stream
from backtraild.store.deflating import deflate
from backtraild.store.delta import apply_delta, result_size
from backtraild.store.indexes import File, Finder, Place
from backtraild.store.kept import Kept
from backtraild.store.objects import ID_LENGTH
from backtraild.store.packed import decode_header

# What reading damaged bytes can raise.
DAMAGE = (
    OSError,
    ValueError,
    IndexError,
    OverflowError,
    MemoryError,
    struct.error,
    zlib.error,
    deflate.error,
)

OPEN_PACKS = 64
BASES_BYTES = 8 * 1024 * 1024
LONGEST_CHAIN = 4096  # git itself makes none longer: more is a circle

_OFFSET_DELTA, _REF_DELTA = 6, 7
_ENTRY_HEADER = 64  # an object's type and size, and its base's id or distance, with room to spare


class Head(NamedTuple):
    """An object's type and size, and where its deflated bytes start; for a delta, where its base is."""

    kind: int
    size: int
    start: int
    distance: int = 0  # how far before this one the base lies
    base: ObjectId | None = None


class Located(NamedTuple):
    """The same with the place of the base, which is None for an object that is no delta, and what was read with it."""

    kind: int
    size: int
    start: int
    base: Place | None
    packed: bytes  # the first deflated bytes


class Packs:
    """The packs of one folder, read-only. Used by one thread. Everything here may raise one of `DAMAGE`."""

    def __init__(self, folder: str) -> None:
        self._finder = Finder(folder)
        self.take_at_hand = self._finder.take_at_hand
        self._files: OrderedDict[str, File] = OrderedDict()
        self._bases: Kept[Place, tuple[int, bytes]] = Kept(BASES_BYTES)

    def __len__(self) -> int:
        return len(self._finder)

    def refresh(self) -> None:
        """Take note of packs that came and went."""
        self._finder.refresh()
        self._files.clear()
        self._bases.clear()

    def close(self) -> None:
        """Let go of the files: a deleted one takes space as long as it is open."""
        self._files.clear()

    def added(self, name: str, offsets: Mapping[ObjectId, int] | None = None) -> None:
        """Take note of one pack that came."""
        self._finder.added(name, offsets)

    @property
    def unread(self) -> tuple[OSError, ...]:
        """Why some indexes could not be read since the last `refresh`: what they hold is not found."""
        return tuple(self._finder.unread)

    def learn(self, oid: ObjectId, place: Place) -> None:
        """An object lies there, though no index tells it."""
        self._finder.learn(oid, place)

    def has(self, oid: ObjectId) -> bool:
        """Is this object in a pack?"""
        return self._finder.find(oid) is not None

    def place(self, oid: ObjectId) -> Place | None:
        """Where a copy of an object lies; None if there is no such object."""
        return self._finder.find(oid)

    def places(self, oid: ObjectId) -> list[Place]:
        """Where all copies of an object lie."""
        return self._finder.find_all(oid)

    def all(self) -> Iterator[tuple[ObjectId, Place]]:
        """Every object, with one place where it lies."""
        return self._finder.all()

    def expect(self, place: Place) -> None:
        """The object there is about to be read."""
        self._file(place).expect(_ENTRY_HEADER + stream.FIRST_READ, place[1])

    def entry_at(self, place: Place) -> Located:
        """What stands before an object; most objects are read to their end with it."""
        name, offset = place
        raw = self._file(place).read(_ENTRY_HEADER + stream.FIRST_READ, offset)
        head = _decode_entry(raw, offset)
        base: Place | None = None
        if head.distance:
            base = name, offset - head.distance
        elif head.base is not None:
            base = self._finder.find(head.base)
            if base is None:
                raise ValueError("its base is missing")
        return Located(head.kind, head.size, head.start, base, raw[head.start - offset :])

    def kind_at(self, place: Place) -> int:
        """An object's type, read no further than it takes to know it."""
        for _ in range(LONGEST_CHAIN):
            kind, _, _, base, _ = self.entry_at(place)
            if base is None:
                return kind
            place = base
        raise ValueError("its deltas go in a circle")

    def size_at(self, place: Place, entry: Located | None = None) -> int:
        """Length of an object, as its header says."""
        _, size, _, base, packed = entry or self.entry_at(place)
        return size if base is None else result_size(stream.beginning(packed, _ENTRY_HEADER))

    def read_at(self, place: Place, entry: Located | None = None) -> tuple[int, bytes]:
        """An object's type and content; quicker with what `entry_at` told of it."""
        chain: list[tuple[Place, bytes]] = []
        while (found := self._bases.get(place)) is None:
            kind, size, start, base, packed = entry or self.entry_at(place)
            content = stream.whole(self._file(place), start, size, packed)
            if base is None:
                break
            if len(chain) == LONGEST_CHAIN:
                raise ValueError("its deltas go in a circle")
            chain.append((place, content))
            place, entry = base, None
        else:
            kind, content = found
        for derived, delta in reversed(chain):
            self._keep(place, kind, content)
            if result_size(delta) > stream.LARGEST_WHOLE:
                raise ValueError("it is too large to be a delta")
            place, content = derived, apply_delta(content, delta)
        if chain:  # the next version, which is often read next, may be a delta of this one
            self._keep(place, kind, content)
        return kind, content

    def pieces_at(self, place: Place) -> tuple[int, int, Iterator[bytes]] | None:
        """An object's type and size, and its content piece by piece; None for a delta."""
        kind, size, start, base, _ = self.entry_at(place)
        return None if base is not None else (kind, size, stream.pieces(self._file(place), start, size))

    def _file(self, place: Place) -> File:
        name = place[0]
        if name not in self._files:
            self._files[name] = File(self._finder.path(name, ".pack"))
            if len(self._files) > OPEN_PACKS:
                self._files.popitem(last=False)
        return self._files[name]

    def _keep(self, place: Place, kind: int, content: bytes) -> None:
        """Remember a base: the next object often is a delta of the same one."""
        if len(content) <= BASES_BYTES // 4:
            self._bases.keep(place, (kind, content), len(content))


def decode_entry(file: File, offset: int) -> Head:
    """What stands before an object's deflated bytes."""
    return _decode_entry(file.read(_ENTRY_HEADER, offset), offset)


def _decode_entry(raw: bytes, offset: int) -> Head:
    kind, size, used = decode_header(raw)
    if kind == _OFFSET_DELTA:
        distance, used = _distance(raw, used)
        if not distance:
            raise ValueError("it is a delta of itself")
        return Head(kind, size, offset + used, distance)
    if kind == _REF_DELTA:
        return Head(kind, size, offset + used + ID_LENGTH, 0, raw[used : used + ID_LENGTH])
    return Head(kind, size, offset + used)


def _distance(raw: bytes, at: int) -> tuple[int, int]:
    """How far before a delta its base lies, and where that number ends. Each further byte adds one more."""
    value = raw[at] & 0x7F
    while raw[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | raw[at] & 0x7F
    return value, at + 1
