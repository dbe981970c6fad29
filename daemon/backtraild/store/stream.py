"""Streaming a large blob out of a pack, so that restoring a file never needs its size in memory."""

import mmap
import os
import struct
import zlib
from collections.abc import Iterator

from backtrail.errors import StoreDamaged
from backtraild.model import ObjectId
from backtraild.store.objects import ID_LENGTH, ObjectType
from backtraild.store.packed import MAX_HEADER, decode_header

PIECE = 1024 * 1024
_VERSION_2 = b"\377tOc\0\0\0\2"
_FANOUT_AT = len(_VERSION_2)
_IDS_AT = _FANOUT_AT + 256 * 4


def blob_pieces(objects_folder: str, oid: ObjectId, size: int) -> Iterator[bytes] | None:
    """The blob's pieces, or None where it is not stored as a plain stream (but loose, or as a delta)."""
    place = _find(os.path.join(objects_folder, "pack"), oid)
    if place is None:
        return None
    pack, offset = place
    try:
        descriptor = os.open(pack, os.O_RDONLY | os.O_CLOEXEC)
        try:
            kind, found_size, used = decode_header(os.pread(descriptor, MAX_HEADER, offset))
            if kind != ObjectType.BLOB or found_size != size:
                return None
            return _inflate(os.dup(descriptor), offset + used, size)
        finally:
            os.close(descriptor)
    except (OSError, OverflowError) as error:  # no pack beside its index, or an offset beyond any file
        raise StoreDamaged(f"A pack in the store can't be read: {error}.") from error


def _inflate(descriptor: int, offset: int, size: int) -> Iterator[bytes]:
    """Inflate from this offset on; ends after `size` bytes whatever the stream claims."""
    inflate = zlib.decompressobj()
    left = size
    try:
        while left and not inflate.eof:
            packed = inflate.unconsumed_tail
            if not packed:
                packed = os.pread(descriptor, PIECE, offset)
                offset += len(packed)
                if not packed:
                    break
            piece = inflate.decompress(packed, min(PIECE, left))
            left -= len(piece)
            if piece:
                yield piece
    except (zlib.error, OSError) as error:
        raise StoreDamaged(f"A large file in the store can't be unpacked: {error}.") from error
    finally:
        os.close(descriptor)
    if left:
        raise StoreDamaged("A large file in the store is cut off.")


def _find(pack_folder: str, oid: ObjectId) -> tuple[str, int] | None:
    """Which pack holds the object, and where in it."""
    for name in os.listdir(pack_folder):
        if name.startswith("pack-") and name.endswith(".idx"):
            path = os.path.join(pack_folder, name)
            offset = _offset_in(path, oid)
            if offset is not None:
                return path.removesuffix(".idx") + ".pack", offset
    return None


def _offset_in(index: str, oid: ObjectId) -> int | None:
    try:
        with open(index, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as table:
            return _search(table, oid)
    except (ValueError, struct.error):  # empty or cut off: libgit2 could not have found it here either
        return None


def _search(table: mmap.mmap, oid: ObjectId) -> int | None:
    if table[:_FANOUT_AT] != _VERSION_2:  # git can be told to write older ones: libgit2 reads those
        return None
    (total,) = struct.unpack_from(">I", table, _FANOUT_AT + 255 * 4)
    low = struct.unpack_from(">I", table, _FANOUT_AT + (oid[0] - 1) * 4)[0] if oid[0] else 0
    (high,) = struct.unpack_from(">I", table, _FANOUT_AT + oid[0] * 4)
    while low < high:
        middle = (low + high) // 2
        at = _IDS_AT + middle * ID_LENGTH
        found = table[at : at + ID_LENGTH]
        if found == oid:
            return _offset_of(table, middle, total)
        if found < oid:
            low = middle + 1
        else:
            high = middle
    return None


def _offset_of(table: mmap.mmap, position: int, total: int) -> int:
    offsets_at = _IDS_AT + total * (ID_LENGTH + 4)
    offset = int(struct.unpack_from(">I", table, offsets_at + position * 4)[0])
    if offset & 0x8000_0000:
        large_at = offsets_at + total * 4 + (offset & 0x7FFF_FFFF) * 8
        offset = int(struct.unpack_from(">Q", table, large_at)[0])
    return offset
