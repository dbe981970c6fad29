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

from backtraild.layout import CHECKSUM, FORMS, HEAD, opened
from backtraild.model import Entry, ObjectId

# A page of SQLite holds two of these, or a few smaller ones, whole.
LARGEST = 1800
# No file has this change time, so that the next look takes none for unchanged that has it in its row.
READ_AGAIN = -1


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
    return CHECKSUM.pack(crc32(body, crc32(key))) + body


def unpack(key: bytes, bundle: bytes) -> dict[bytes, Row]:
    """What was packed, in the same order."""
    try:
        form, rows, names = opened(key, bundle)
        return dict(zip(names, FORMS[form].iter_unpack(rows), strict=True))
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
    size = sum(map(len, names)) + len(names) * (FORMS[0].size + 1)
    # Names that no file system has, but a forged tree may, are too large for any part: each has one of its own.
    parts = min(len(names), -(-size // LARGEST))
    for part in range(parts):
        chosen = names[len(names) * part // parts : len(names) * (part + 1) // parts]
        yield {name: rows[name] for name in chosen}


def _body(form: int, rows: Mapping[bytes, Row]) -> bytes:
    """All but the checksum; the names come behind the last row, with NULs between them."""
    packed = starmap(FORMS[form].pack, rows.values())
    return b"".join([HEAD.pack(form, len(rows)), *packed, b"\0".join(rows)])
