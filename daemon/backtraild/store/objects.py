"""Git's object format as bytes: ids, trees and pack entry types. Pure, and independent of libgit2.

libgit2's TreeBuilder refuses names that are not UTF-8 and its writers hold the GIL, so objects are
made here; `packs` tells why they are not read by libgit2 either.
"""

import hashlib
from collections.abc import Mapping
from enum import IntEnum

from backtrail.errors import StoreDamaged
from backtraild.model import TREE_MODE, Entry, ObjectId

ID_LENGTH = 20


class ObjectType(IntEnum):
    """The numbers that packs use for types."""

    COMMIT = 1
    TREE = 2
    BLOB = 3


# Larger ones are refused before they are inflated. A commit has limits of its own (`record`), and so has a
# conversation's; a folder of a million files whose names are as long as names can be still fits.
LARGEST = {ObjectType.COMMIT: 32 * 1024 * 1024, ObjectType.TREE: 300 * 1024 * 1024}

TOO_LARGE = "it is larger than any of its type can be"

_NAMES = {ObjectType.COMMIT: b"commit", ObjectType.TREE: b"tree", ObjectType.BLOB: b"blob"}
_MODE_BYTES: dict[int, bytes] = {}
_MODE_NUMBERS: dict[bytes, int] = {}


def hash_prefix(kind: ObjectType, size: int) -> bytes:
    """What git hashes before an object's content."""
    return b"%s %d\0" % (_NAMES[kind], size)


def object_id(kind: ObjectType, content: bytes) -> ObjectId:
    """The id git gives to this content."""
    digest = hashlib.sha1(hash_prefix(kind, len(content)), usedforsecurity=False)
    digest.update(content)
    return digest.digest()


EMPTY_TREE = object_id(ObjectType.TREE, b"")


def encode_tree(entries: Mapping[bytes, Entry]) -> bytes:
    """A tree object's content. Git orders folders as if their names ended in a slash."""
    ordered = sorted(
        entries.items(), key=lambda item: item[0] + b"/" if item[1].mode == TREE_MODE else item[0]
    )
    return b"".join([_mode_bytes(mode) + name + b"\0" + oid for name, (mode, oid) in ordered])


def decode_tree(content: bytes) -> dict[bytes, Entry]:
    """The entries of a tree object."""
    entries: dict[bytes, Entry] = {}
    position, end = 0, len(content)
    try:
        while position < end:
            space = content.index(b" ", position, position + 8)
            nul = content.index(b"\0", space)
            following = nul + 1 + ID_LENGTH
            mode = _mode_number(content[position:space])
            entries[content[space + 1 : nul]] = Entry(mode, content[nul + 1 : following])
            position = following
    except ValueError as error:
        raise StoreDamaged("A tree in the store is not in git's format.") from error
    if position != end:
        raise StoreDamaged("A tree in the store ends in the middle of an entry.")
    return entries


def _mode_bytes(mode: int) -> bytes:
    if mode not in _MODE_BYTES:
        _MODE_BYTES[mode] = b"%o " % mode
    return _MODE_BYTES[mode]


def _mode_number(digits: bytes) -> int:
    if digits not in _MODE_NUMBERS:
        if len(_MODE_NUMBERS) > 100:  # only a damaged store has so many
            _MODE_NUMBERS.clear()
        _MODE_NUMBERS[digits] = int(digits, 8)
    return _MODE_NUMBERS[digits]
