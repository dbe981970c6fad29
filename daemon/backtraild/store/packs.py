"""Reading objects out of packs, deltas undone.

This is Python on purpose. libgit2's pack reader ends the process when an offset in an index leads beyond its
pack, and turns for ever in a circle of deltas, with the interpreter locked: one flipped bit on the disk would
stop the daemon at every start. Here the worst that damaged bytes can do is an exception.
"""

import struct
import zlib
from collections import OrderedDict
from collections.abc import Iterator

from backtraild.model import ObjectId
from backtraild.store import stream
from backtraild.store.delta import apply_delta, result_size
from backtraild.store.indexes import File, Finder
from backtraild.store.objects import ID_LENGTH, ObjectType
from backtraild.store.pack import deflate
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

Place = tuple[str, int]


class Packs:
    """The packs of one folder, read-only. Used by one thread. Everything here may raise one of `DAMAGE`."""

    def __init__(self, folder: str) -> None:
        self._finder = Finder(folder)
        self._files: OrderedDict[str, File] = OrderedDict()
        self._bases: OrderedDict[Place, tuple[int, bytes]] = OrderedDict()
        self._bases_size = 0

    def refresh(self) -> None:
        """Take note of packs that came and went."""
        self._finder.refresh()
        self._files.clear()
        self._bases.clear()
        self._bases_size = 0

    def added(self, name: str) -> None:
        """Take note of one pack that came."""
        self._finder.added(name)

    def has(self, oid: ObjectId) -> bool:
        """Is this object in a pack?"""
        return self._finder.find(oid) is not None

    def size(self, oid: ObjectId) -> int | None:
        """Length of an object, as its header says; None if there is no such object."""
        place = self._finder.find(oid)
        if place is None:
            return None
        _, size, start, base = self._entry(place)
        if base is None:
            return size
        return result_size(stream.beginning(self._file(place), start, _ENTRY_HEADER))

    def read(self, oid: ObjectId) -> tuple[int, bytes] | None:
        """An object's type and content; None if there is no such object."""
        place = self._finder.find(oid)
        if place is None:
            return None
        chain: list[tuple[Place, bytes]] = []
        while place not in self._bases:
            kind, size, start, base = self._entry(place)
            content = stream.whole(self._file(place), start, size)
            if base is None:
                break
            if len(chain) == LONGEST_CHAIN:
                raise ValueError("its deltas go in a circle")
            chain.append((place, content))
            place = base
        else:
            self._bases.move_to_end(place)
            kind, content = self._bases[place]
        for derived, delta in reversed(chain):
            self._keep(place, kind, content)
            place, content = derived, apply_delta(content, delta)
        return kind, content

    def blob_pieces(self, oid: ObjectId) -> Iterator[bytes] | None:
        """A blob piece by piece; None where it is not there, or a delta."""
        place = self._finder.find(oid)
        if place is None:
            return None
        kind, size, start, _ = self._entry(place)
        return stream.pieces(self._file(place), start, size) if kind == ObjectType.BLOB else None

    def _entry(self, place: Place) -> tuple[int, int, int, Place | None]:
        """An object's type and size, where its deflated bytes start, and for a delta where its base lies."""
        name, offset = place
        raw = self._file(place).read(_ENTRY_HEADER, offset)
        kind, size, used = decode_header(raw)
        base: Place | None = None
        if kind == _OFFSET_DELTA:
            distance, used = _distance(raw, used)
            base = name, offset - distance
        elif kind == _REF_DELTA:
            base = self._finder.find(raw[used : used + ID_LENGTH])
            used += ID_LENGTH
            if base is None:
                raise ValueError("its base is missing")
        return kind, size, offset + used, base

    def _file(self, place: Place) -> File:
        name = place[0]
        if name not in self._files:
            self._files[name] = File(self._finder.path(name, ".pack"))
            if len(self._files) > OPEN_PACKS:
                self._files.popitem(last=False)
        return self._files[name]

    def _keep(self, place: Place, kind: int, content: bytes) -> None:
        """Remember a base: the next object often is a delta of the same one."""
        if place in self._bases or len(content) > BASES_BYTES // 4:
            return
        self._bases[place] = kind, content
        self._bases_size += len(content)
        while self._bases_size > BASES_BYTES:
            self._bases_size -= len(self._bases.popitem(last=False)[1][1])


def _distance(raw: bytes, at: int) -> tuple[int, int]:
    """How far before a delta its base lies, and where that number ends. Each further byte adds one more."""
    value = raw[at] & 0x7F
    while raw[at] & 0x80:
        at += 1
        value = (value + 1) << 7 | raw[at] & 0x7F
    return value, at + 1
