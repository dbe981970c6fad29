"""The index of a pack as bytes, version 2: fan-out, sorted ids, CRCs, offsets, both checksums. Pure."""

import hashlib
import struct
import sys
from array import array
from itertools import accumulate

from backtraild.store.objects import ID_LENGTH

_FAR = 0x8000_0000


def encode_sorted(ids: bytes, checksums: "array[int]", offsets: "array[int]", pack: bytes) -> list[bytes]:
    """An index in parts. The ids stand one after another, sorted; CRCs (`I`) and offsets (`Q`) are in their order."""
    heads = [0] * 256
    for head in ids[::ID_LENGTH]:
        heads[head] += 1
    small, large = _offset_tables(offsets)
    parts = [
        b"\377tOc" + struct.pack(">I256I", 2, *accumulate(heads)),
        ids,
        _big_endian(checksums),
        _big_endian(small) + _big_endian(large),
        pack,
    ]
    digest = hashlib.sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return [*parts, digest.digest()]


def _offset_tables(offsets: "array[int]") -> tuple["array[int]", "array[int]"]:
    """Offsets beyond 2 GiB live in a second table; the first then holds their place in it."""
    large = array("Q", [offset for offset in offsets if offset >= _FAR])
    if not large:
        return array("I", offsets), large
    places = iter(range(_FAR, _FAR + len(large)))
    return array("I", [next(places) if offset >= _FAR else offset for offset in offsets]), large


def _big_endian(numbers: "array[int]") -> bytes:
    if sys.byteorder == "little":
        numbers = numbers[:]
        numbers.byteswap()
    return numbers.tobytes()
