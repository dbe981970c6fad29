"""Taking a pack apart without its index: where each object begins, what it is, and what is left of a broken pack."""

import re
import struct
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from backtrail.errors import StoreDamaged
from backtraild.store.indexes import File
from backtraild.store.objects import ObjectType
from backtraild.store.packed import MAX_HEADER
from backtraild.store.packs import DAMAGE, Head, decode_entry

HEADER = struct.Struct(">4sII")
TRAILER = 20
_PIECE = 256 * 1024
_NOWHERE = 1 << 62
_STREAM_BEGINS = re.compile(rb"\x78[\x01\x5e\x9c\xda]")  # what git and Backtrail deflate begins like this
_WHOLE_OBJECTS = frozenset(ObjectType)


class Part(NamedTuple):
    """One object as it lies in a pack."""

    offset: int
    end: int
    checksum: int


def count_of(file: File) -> int:
    """How many objects a pack says it holds. ValueError if it is none."""
    start = file.read(HEADER.size, 0)
    if len(start) != HEADER.size or start[:8] != b"PACK\0\0\0\2":
        raise ValueError("it does not begin like a pack")
    return int(HEADER.unpack(start)[2])


def is_whole(file: File) -> bool:
    """Does the pack still have the checksum that stands at its end?"""
    end = file.size - TRAILER
    return end >= HEADER.size and file.digest(end) == file.read(TRAILER, end)


def parts(file: File) -> list[Part]:
    """Every object of a whole pack, in order. One of `DAMAGE` where it is not what it says."""
    found, offset = [], HEADER.size
    for _ in range(count_of(file)):
        found.append(_part(file, offset))
        offset = found[-1].end
    if offset != file.size - TRAILER:
        raise ValueError("it is longer than its objects")
    return found


def remains(file: File, offsets: list[int]) -> Iterator[Part]:
    """The objects of a broken pack that can be inflated: those at known offsets, and what is found by searching."""
    known = sorted(set(offsets))
    offset = HEADER.size
    while offset < file.size:
        try:
            part = _part(file, offset)
        except (*DAMAGE, StoreDamaged):
            offset = _next_known(known, offset) if known else _search(file, offset + 1)
            continue
        yield part
        offset = part.end


def _next_known(known: list[int], offset: int) -> int:
    at = bisect_right(known, offset)
    return known[at] if at < len(known) else _NOWHERE


def _search(file: File, offset: int) -> int:
    """The next place at which a whole object begins, told by what deflated content begins with."""
    while window := file.read(_PIECE, offset):
        for match in _STREAM_BEGINS.finditer(window):
            for begin in range(max(offset, offset + match.start() - MAX_HEADER), offset + match.start()):
                if _begins(file, begin, offset + match.start()):
                    return begin
        if len(window) < _PIECE:
            break
        offset += len(window) - 2 * MAX_HEADER  # what lies over the border is met again
    return _NOWHERE


def _begins(file: File, begin: int, stream: int) -> bool:
    try:
        head = decode_entry(file, begin)
        if head.kind not in _WHOLE_OBJECTS or head.start != stream:
            return False
        _part(file, begin)
    except (*DAMAGE, StoreDamaged):
        return False
    return True


def _part(file: File, offset: int) -> Part:
    head = decode_entry(file, offset)
    end = _end_of_stream(file, head)
    checksum = 0
    for at in range(offset, end, _PIECE):
        checksum = zlib.crc32(file.read(min(_PIECE, end - at), at), checksum)
    return Part(offset, end, checksum)


def _end_of_stream(file: File, head: Head) -> int:
    """Where the deflated bytes of an object end. ValueError unless they are as many as its header says.

    zlib itself, and not its faster sister: it tells exactly how much it has taken.
    """
    inflate = zlib.decompressobj()
    at, left, packed = head.start, head.size, b""
    while not inflate.eof:
        if not packed:
            packed = file.read(_PIECE, at)
            at += len(packed)
            if not packed:
                raise ValueError("it is cut off")
        left -= len(inflate.decompress(packed, min(_PIECE, left + 1)))
        if left < 0:
            raise ValueError("it is longer than it says")
        packed = inflate.unconsumed_tail
    if left:
        raise ValueError("it is shorter than it says")
    return at - len(inflate.unused_data)
