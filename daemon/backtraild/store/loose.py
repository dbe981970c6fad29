"""Loose objects: Backtrail writes none, but git commands run on a store by hand may."""

import contextlib
import hashlib
import os
import zlib
from collections.abc import Iterator

from backtrail.errors import StoreDamaged
from backtrail.regular import read_regular
from backtraild.model import ObjectId
from backtraild.store.objects import LARGEST, TOO_LARGE, ObjectType, hash_prefix
from backtraild.store.troubles import unusable

MAX_SIZE = 1024 * 1024 * 1024
HASHED_FIRST_FROM = 8 * 1024 * 1024
_PIECE = 1024 * 1024
_HEADER = 64
_BEST_RATIO = 1040  # deflate makes no more than this of a byte
_NOT_IT = "it is cut off or has another type than expected"


def size(objects_folder: str, oid: ObjectId) -> int | None:
    """Length of a loose blob, as its header says; None if there is none."""
    packed = _packed(objects_folder, oid)
    if packed is None:
        return None
    with _told_as_damage(oid):
        return _begun(packed, ObjectType.BLOB)[1]


def read(objects_folder: str, oid: ObjectId, kind: ObjectType) -> bytes | None:
    """The content of a loose object, not yet checked against its id; None if there is none.

    A large one is hashed before memory is given to it: it may be a bomb.
    """
    packed = _packed(objects_folder, oid)
    if packed is None:
        return None
    with _told_as_damage(oid):
        length = _begun(packed, kind)[1]
        if length > LARGEST.get(kind, MAX_SIZE):
            raise ValueError(TOO_LARGE)
        if length > HASHED_FIRST_FROM and _hash(packed, kind) != oid:
            raise ValueError("its content has changed")
        content = b"".join(_pieces(packed, kind))
        if len(content) != length:
            raise ValueError(_NOT_IT)
        return content


def _packed(objects_folder: str, oid: ObjectId) -> bytes | None:
    name = oid.hex()
    try:
        return read_regular(os.path.join(objects_folder, name[:2], name[2:]), MAX_SIZE, follow=False)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise unusable(oid, [error]) from error


@contextlib.contextmanager
def _told_as_damage(oid: ObjectId) -> Iterator[None]:
    try:
        yield
    except (zlib.error, ValueError) as error:
        raise StoreDamaged(f"Object {oid.hex()} in the store can't be used: {error}.") from error


def _begun(packed: bytes, kind: ObjectType) -> tuple["zlib._Decompress", int, bytes]:
    """The stream behind its header, the length that the header says, and what of the content came with it."""
    inflate = zlib.decompressobj()
    header, separator, body = inflate.decompress(packed, _HEADER).partition(b"\0")
    digits = header.rpartition(b" ")[2]
    length = int(digits) if digits.isdigit() else -1
    if not separator or not 0 <= length <= MAX_SIZE or header + separator != hash_prefix(kind, length):
        raise ValueError(_NOT_IT)
    if length > (len(packed) + 1) * _BEST_RATIO:
        raise ValueError("it claims to be larger than it can be")
    return inflate, length, body


def _pieces(packed: bytes, kind: ObjectType) -> Iterator[bytes]:
    """The content, never more than its header says; ValueError in place of the end where the two do not fit."""
    inflate, left, piece = _begun(packed, kind)
    while True:
        left -= len(piece)
        if left < 0:
            raise ValueError(_NOT_IT)
        yield piece
        if inflate.eof:
            return
        piece = inflate.decompress(inflate.unconsumed_tail, min(_PIECE, left + 1))
        if not piece and not inflate.eof:
            raise ValueError(_NOT_IT)


def _hash(packed: bytes, kind: ObjectType) -> ObjectId:
    digest = hashlib.sha1(hash_prefix(kind, _begun(packed, kind)[1]), usedforsecurity=False)
    for piece in _pieces(packed, kind):
        digest.update(piece)
    return digest.digest()
