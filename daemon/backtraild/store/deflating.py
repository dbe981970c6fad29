"""Objects as a pack holds them: deflated, or put there as they are."""

import zlib
from struct import Struct
from types import ModuleType

from backtraild.model import ObjectId, Packed
from backtraild.store.objects import ObjectType, object_id
from backtraild.store.packed import encode_header
from backtraild.store.text import count_text_lines

deflate: ModuleType
try:
    from isal import isal_zlib as deflate
except ImportError:  # no wheel for this machine: the standard library does the same, slower
    deflate = zlib

COMPRESSION_LEVEL = 1

# A stream of one block, the last, of bytes as they are: how many, and the same with all bits turned round.
_STORED = Struct("<BBBHH")
_MOST_STORED = 0xFFFF


def pack_blob(content: bytes) -> Packed:
    """A file's content as a pack will hold it."""
    return packed(ObjectType.BLOB, object_id(ObjectType.BLOB, content), content)


def packed(kind: ObjectType, oid: ObjectId, content: bytes, *, as_it_is: bool = False) -> Packed:
    """An object as a pack will hold it. To leave it as it is takes a twentieth of the time."""
    stream = _stored(content) if as_it_is else deflate.compress(content, COMPRESSION_LEVEL)
    whole = encode_header(kind, len(content)) + stream
    lines = count_text_lines(content) if kind is ObjectType.BLOB else None
    return Packed(oid, len(content), lines, deflate.crc32(whole), whole)


def _stored(content: bytes) -> bytes:
    """What deflating makes of content that it does not shorten, for all who inflate."""
    size = len(content)
    head = _STORED.pack(0x78, 0x01, 1, size, size ^ _MOST_STORED)
    return b"%b%b%b" % (head, content, zlib.adler32(content).to_bytes(4))
