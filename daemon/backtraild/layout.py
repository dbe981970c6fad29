"""How the stat table lies on the disk: its file, rows of neighbouring files of a folder as the bytes of a bundle, and
what else was in a folder as the bytes of a listing.

Nothing is imported here that takes time: a start reads bundles before it has loaded anything else.
"""

from collections.abc import Iterable
from os import stat_result
from struct import Struct
from zlib import crc32

try:  # behind `hashlib`, which loads OpenSSL first, for as long as it takes to look at a thousand files
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

TABLE = "state.db"
VERSION = 4

CHECKSUM = Struct("<I")  # of the key and of all that follows
HEAD = Struct("<BH")  # which of the forms the rows have, and how many there are
# The fields of a row: mode, id, size, mtime, ctime, inode. Sizes and inodes need more than 32 bits in few folders;
# there, all rows of a bundle take more.
FORMS = (Struct("<H20sIqqI"), Struct("<I20sqqqQ"))
# Of the same rows only how the file system showed the files: size, mtime, ctime, inode.
_LOOKS = (Struct("<22xIqqI"), Struct("<24xqqqQ"))

# Of a folder that was listed: inode, mtime, ctime, and a checksum of the names that had rows. Behind that stand what
# proves that nothing in it has changed, and the other names.
_LISTED = Struct("<QQQI")
_PROOF_BYTES = 16
_NO_PROOF = bytes(_PROOF_BYTES)
# Of listings; those that were laid out in another way have other checksums and other proofs.
_FORM = 3
_ANY_64_BITS = 2**64 - 1

Look = tuple[int, int, int, int]

_HEAD_AT = CHECKSUM.size
_ROWS_AT = _HEAD_AT + HEAD.size
_PROOF_AT = _HEAD_AT + _LISTED.size
_OTHERS_AT = _PROOF_AT + _PROOF_BYTES


def opened(key: bytes, bundle: bytes) -> tuple[int, bytes, list[bytes]]:
    """The form of a bundle's rows, their bytes and the names; a ValueError where they are not as they were written."""
    (checksum,) = CHECKSUM.unpack_from(bundle)
    if crc32(memoryview(bundle)[_HEAD_AT:], crc32(key)) != checksum:
        raise ValueError("their checksum is another one")
    form, count = HEAD.unpack_from(bundle, _HEAD_AT)
    names_at = _ROWS_AT + count * FORMS[form].size
    return form, bundle[_ROWS_AT:names_at], bundle[names_at:].split(b"\0")


def listing(
    folder: stat_result,
    names: list[bytes],
    others: Iterable[bytes],
    seen: memoryview | None = None,
    bundles: Iterable[bytes] = (),
) -> bytes:
    """A folder that looked like that had these files with rows in it, and these others.

    Where the files looked as their rows say, what was `seen` of them and the folder is the proof of it.
    """
    joined = b"\0".join(others)
    proof = _NO_PROOF if seen is None else _proof(seen, bundles, joined)
    content = _listed(folder, names) + proof + joined
    return CHECKSUM.pack(crc32(content, _FORM)) + content


def others(kept: bytes, folder: stat_result, names: list[bytes]) -> list[bytes] | None:
    """Those that a listing names, if the folder and the names with rows are still the same. None if they are not."""
    if kept[_HEAD_AT:_PROOF_AT] != _listed(folder, names):
        return None
    is_whole = CHECKSUM.pack(crc32(memoryview(kept)[_HEAD_AT:], _FORM)) == kept[:_HEAD_AT]
    return _split(kept[_OTHERS_AT:]) if is_whole else None


def proven_others(kept: bytes, seen: memoryview, bundles: Iterable[bytes]) -> list[bytes] | None:
    """Those that a listing names, if the same is to be seen beside the same rows. None if it is not."""
    found = kept[_OTHERS_AT:]
    return _split(found) if kept[_PROOF_AT:_OTHERS_AT] == _proof(seen, bundles, found) else None


def _proof(seen: memoryview, bundles: Iterable[bytes], others: bytes) -> bytes:
    """No name has a slash, so it is clear where the others end."""
    return blake2b(b"".join((others, b"/", seen, *bundles)), digest_size=_PROOF_BYTES).digest()


def _split(others: bytes) -> list[bytes]:
    return others.split(b"\0") if others else []


def _listed(folder: stat_result, names: list[bytes]) -> bytes:
    mtime, ctime = folder.st_mtime_ns & _ANY_64_BITS, folder.st_ctime_ns & _ANY_64_BITS
    return _LISTED.pack(folder.st_ino, mtime, ctime, crc32(b"\0".join(names)))


def names_in(bundle: bytes, ahead: bytes = b"") -> list[bytes]:
    """The names of a bundle, which is not checked here, each with the same ahead of it."""
    form, count = HEAD.unpack_from(bundle, _HEAD_AT)
    names = bundle[_ROWS_AT + count * FORMS[form].size :]
    return (ahead + names.replace(b"\0", b"\0" + ahead)).split(b"\0")


def looks(key: bytes, bundle: bytes) -> tuple[list[bytes], list[Look]]:
    """The names of a bundle, and how each of the files looked."""
    form, rows, names = opened(key, bundle)
    return names, list(_LOOKS[form].iter_unpack(rows))
