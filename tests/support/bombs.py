"""Objects that are small on the disk and claim, or have, far more in them than a machine has memory."""

import hashlib
import zlib
from array import array
from collections.abc import Sequence
from pathlib import Path

from backtraild.store import pack
from backtraild.store.objects import ObjectType
from backtraild.store.packed import encode_header

MEGABYTE = 1024 * 1024
_REF_DELTA = 7


def zeros(size: int, beginning: bytes = b"") -> bytes:
    """So many zeros, perhaps behind something else, deflated: far less than a hundredth of their size."""
    deflate = zlib.compressobj(1)
    first, piece = deflate.compress(beginning), bytes(MEGABYTE)
    parts = [deflate.compress(piece[: min(len(piece), size - at)]) for at in range(0, size, len(piece))]
    return b"".join([first, *parts, deflate.flush()])


def plain(kind: ObjectType, claimed: int, deflated: bytes) -> bytes:
    """An entry of a pack whose header says anything."""
    return encode_header(kind, claimed) + deflated


def delta(base: bytes, base_size: int, times: int) -> bytes:
    """An entry that makes its base so many times as long."""
    copy = bytes([0xF0, *base_size.to_bytes(3, "little")])
    orders = _number(base_size) + _number(base_size * times) + copy * times
    header = bytearray(encode_header(ObjectType.BLOB, len(orders)))
    header[0] = header[0] & 0x8F | _REF_DELTA << 4
    return bytes(header) + base + zlib.compress(orders)


def write_entries(git_dir: Path, entries: Sequence[tuple[bytes, bytes]]) -> None:
    """A pack of these entries under these ids, which need not be theirs."""
    entries = sorted(entries)
    body, offsets = bytearray(b"PACK\0\0\0\2" + len(entries).to_bytes(4)), array("Q")
    for _, entry in entries:
        offsets.append(len(body))
        body += entry
    checksum = hashlib.sha1(body).digest()
    stem = git_dir / "objects" / "pack" / f"pack-{checksum.hex()}"
    stem.with_suffix(".pack").write_bytes(body + checksum)
    checks = array("I", bytes(4 * len(entries)))
    index = pack.encode_index([oid for oid, _ in entries], checks, offsets, checksum)
    stem.with_suffix(".idx").write_bytes(b"".join(index))


def write_loose(git_dir: Path, oid: bytes, deflated: bytes) -> None:
    """A loose object of any content."""
    path = git_dir / "objects" / oid.hex()[:2] / oid.hex()[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(deflated)


def _number(value: int) -> bytes:
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*made, value])
