"""How the stat table lies on the disk: its file, rows of neighbouring files of a folder as the bytes of a bundle, and
what else was in a folder as the bytes of a listing.

Nothing is imported here that takes time: a start reads bundles before it has loaded anything else.
"""

from collections.abc import Iterable
from os import stat_result
from struct import Struct
from zlib import crc32

TABLE = "state.db"
VERSION = 4

CHECKSUM = Struct("<I")  # of the key and of all that follows
HEAD = Struct("<BH")  # which of the forms the rows have, and how many there are
# The fields of a row: mode, id, size, mtime, ctime, inode. Sizes and inodes need more than 32 bits in few folders;
# there, all rows of a bundle take more.
FORMS = (Struct("<H20sIqqI"), Struct("<I20sqqqQ"))
# Of the same rows only how the file system showed the files: size, mtime, ctime, inode.
_LOOKS = (Struct("<22xIqqI"), Struct("<24xqqqQ"))

# Of a folder that was listed: inode, mtime, ctime, and a checksum of the names that had rows. The other names follow.
_LISTED = Struct("<QQQI")
_ANY_64_BITS = 2**64 - 1

Look = tuple[int, int, int, int]

_HEAD_AT = CHECKSUM.size
_ROWS_AT = _HEAD_AT + HEAD.size


def opened(key: bytes, bundle: bytes) -> tuple[int, bytes, list[bytes]]:
    """The form of a bundle's rows, their bytes and the names; a ValueError where they are not as they were written."""
    (checksum,) = CHECKSUM.unpack_from(bundle)
    if crc32(memoryview(bundle)[_HEAD_AT:], crc32(key)) != checksum:
        raise ValueError("their checksum is another one")
    form, count = HEAD.unpack_from(bundle, _HEAD_AT)
    names_at = _ROWS_AT + count * FORMS[form].size
    return form, bundle[_ROWS_AT:names_at], bundle[names_at:].split(b"\0")


def listing(folder: stat_result, names: list[bytes], others: Iterable[bytes]) -> bytes:
    """A folder that looked like that had these files with rows in it, and these others."""
    content = _listed(folder, names) + b"\0".join(others)
    return CHECKSUM.pack(crc32(content)) + content


def others(kept: bytes, folder: stat_result, names: list[bytes]) -> list[bytes] | None:
    """Those that a listing names, if the folder and the names with rows are still the same. None if they are not."""
    content = kept[_HEAD_AT:]
    is_as_written = CHECKSUM.pack(crc32(content)) == kept[:_HEAD_AT]
    if not is_as_written or content[: _LISTED.size] != _listed(folder, names):
        return None
    found = content[_LISTED.size :]
    return found.split(b"\0") if found else []


def _listed(folder: stat_result, names: list[bytes]) -> bytes:
    mtime, ctime = folder.st_mtime_ns & _ANY_64_BITS, folder.st_ctime_ns & _ANY_64_BITS
    return _LISTED.pack(folder.st_ino, mtime, ctime, crc32(b"\0".join(names)))


def looks(key: bytes, bundle: bytes) -> tuple[list[bytes], list[Look]]:
    """The names of a bundle, and how each of the files looked."""
    form, rows, names = opened(key, bundle)
    return names, list(_LOOKS[form].iter_unpack(rows))
