"""Rows of the stat table as bytes: those of a few neighbouring files of one folder are packed into one bundle.

A row of SQLite for every file would repeat the folder and cost a step each, and most rows are only compared with the
disk. What is damaged in a bundle is told as SQLite tells its own damage.
"""

import sqlite3
import struct
from collections.abc import Iterator, Mapping
from itertools import starmap
from typing import NamedTuple
from zlib import crc32

from backtraild.model import Entry, ObjectId

# A page of SQLite holds two of these, or a few smaller ones, whole.
LARGEST = 1800
# No file has this change time, so that the next look takes none for unchanged that has it in its row.
READ_AGAIN = -1

_CHECKSUM = struct.Struct("<I")  # of the key and of all that follows
_HEAD = struct.Struct("<BH")  # which of the forms the rows have, and how many there are
_HEAD_AT = _CHECKSUM.size
_ROWS_AT = _HEAD_AT + _HEAD.size
# The fields of a Stat. Sizes and inodes need more than 32 bits in few folders; there, all rows of a bundle take more.
_FORMS = (struct.Struct("<H20sIqqI"), struct.Struct("<I20sqqqQ"))


class Stat(NamedTuple):
    """A captured file: what git knows of it, and how the file system showed it.

    `ctime_ns` is READ_AGAIN where the file may have changed since without showing it.
    """

    mode: int
    oid: ObjectId
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @property
    def entry(self) -> Entry:
        """The part that goes into a tree."""
        return Entry(self.mode, self.oid)


# The fields of a Stat as they are unpacked: a look compares every file and has a use for few of the values.
Row = tuple[int, ObjectId, int, int, int, int]


class BundleDamaged(sqlite3.DatabaseError):
    """The bytes are not those that were written."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def pack(key: bytes, rows: Mapping[bytes, Row]) -> bytes:
    """One bundle; it can be unpacked under the same key only."""
    try:
        body = _body(0, rows)
    except struct.error:
        body = _body(1, rows)
    return _CHECKSUM.pack(crc32(body, crc32(key))) + body


def unpack(key: bytes, bundle: bytes) -> dict[bytes, Row]:
    """What was packed, in the same order."""
    try:
        (checksum,) = _CHECKSUM.unpack_from(bundle)
        if crc32(memoryview(bundle)[_HEAD_AT:], crc32(key)) != checksum:
            raise ValueError("their checksum is another one")
        form, count = _HEAD.unpack_from(bundle, _HEAD_AT)
        row = _FORMS[form]
        names_at = _ROWS_AT + count * row.size
        names = bundle[names_at:].split(b"\0")
        return dict(zip(names, row.iter_unpack(bundle[_ROWS_AT:names_at]), strict=True))
    except (
        TypeError,
        ValueError,
        IndexError,
        struct.error,
    ) as error:  # a TypeError where it is not even bytes
        raise BundleDamaged(f"rows of files are not as they were written: {error}") from error


def split(rows: Mapping[bytes, Row]) -> Iterator[dict[bytes, Row]]:
    """The same rows in the order of their names, in parts that are not too large and about as large as each other."""
    names = sorted(rows)
    size = sum(map(len, names)) + len(names) * (_FORMS[0].size + 1)
    # Names that no file system has, but a forged tree may, are too large for any part: each has one of its own.
    parts = min(len(names), -(-size // LARGEST))
    for part in range(parts):
        chosen = names[len(names) * part // parts : len(names) * (part + 1) // parts]
        yield {name: rows[name] for name in chosen}


def _body(form: int, rows: Mapping[bytes, Row]) -> bytes:
    """All but the checksum; the names come behind the last row, with NULs between them."""
    packed = starmap(_FORMS[form].pack, rows.values())
    return b"".join([_HEAD.pack(form, len(rows)), *packed, b"\0".join(rows)])
