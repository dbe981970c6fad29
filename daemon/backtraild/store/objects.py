"""Git's object format as bytes: ids, trees and pack entry types. Pure, and independent of libgit2.

libgit2's TreeBuilder refuses names that are not UTF-8 and its writers hold the GIL, so objects are
made here; `packs` tells why they are not read by libgit2 either.
"""

import hashlib
import re
from collections.abc import Mapping
from enum import IntEnum
from functools import lru_cache

from backtrail.errors import StoreDamaged
from backtraild.model import TREE_MODE, Change, Entry, ObjectId

ID_LENGTH = 20
FEW = 8  # changes that are searched for one by one, since a table of all entries would take longer

Differing = tuple[Mapping[bytes, Entry], Mapping[bytes, Entry]]  # of two trees, what only one of them has


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
_NO_TREE = "A tree in the store is not in git's format."
# What is no entry matches as one piece up to the end: a search for the next entry in it could take for ever.
_ENTRY = re.compile(rb"([0-7]{1,7}) ([^\0]*+)\0(.{20})|(.+)", re.DOTALL)
_WHOLE_ENTRY = re.compile(rb"[0-7]{1,7} [^\0]*+\0.{20}|.+", re.DOTALL)
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
    ordered = sorted(entries.items())
    if any(entry.mode == TREE_MODE for entry in entries.values()):
        ordered.sort(key=lambda item: item[0] + b"/" if item[1].mode == TREE_MODE else item[0])
    return b"".join([_mode_bytes(mode) + name + b"\0" + oid for name, (mode, oid) in ordered])


def _entry(name: bytes, entry: Entry) -> bytes:
    return _mode_bytes(entry.mode) + name + b"\0" + entry.oid


def decode_tree(content: bytes) -> dict[bytes, Entry]:
    """The entries of a tree object."""
    found = _ENTRY.findall(content)
    if found and found[-1][-1]:
        raise StoreDamaged(_NO_TREE)
    return {name: Entry(_mode_number(mode), oid) for mode, name, oid, _ in found}


def amend_tree(content: bytes, changes: Mapping[bytes, Change]) -> bytes | None:
    """The same tree with other entries under names that it has; None where that is not all, or not what it has.

    Nearly every edit is of this sort. Nothing is decoded for it, and nothing sorted: a tenth of the time.
    """
    pieces = list(_entries(content))
    places = dict(zip(pieces, range(len(pieces)), strict=True)) if len(changes) > FEW else None
    for name, (old, new) in changes.items():
        if old is None or new is None or (old.mode == TREE_MODE) != (new.mode == TREE_MODE):
            return None
        piece = _entry(name, old)
        try:
            place = pieces.index(piece) if places is None else places[piece]
        except (ValueError, KeyError):
            return None
        pieces[place] = _entry(name, new)
    return b"".join(pieces)


def find_folder(content: bytes, name: bytes) -> ObjectId | None:
    """The tree of one folder in a tree, without decoding the others."""
    beginning = _mode_bytes(TREE_MODE) + name + b"\0"
    found = (piece for piece in _entries(content) if piece.startswith(beginning))
    return next((piece[-ID_LENGTH:] for piece in found), None)


def decode_differing(old: bytes, new: bytes) -> Differing:
    """Of each of two trees, the entries that the other one does not have. What both have is never decoded."""
    before, after = _entries(old), _entries(new)
    if len(before) == len(after):
        apart = [(one, other) for one, other in zip(before, after, strict=True) if one != other]
        if len(apart) == 1:  # as in each folder above a file that was edited: quicker than to make sets
            return decode_tree(apart[0][0]), decode_tree(apart[0][1])
    left, right = set(before), set(after)
    return decode_tree(b"".join(left - right)), decode_tree(b"".join(right - left))


@lru_cache(4)  # a folder is looked for in a tree, and then exchanged there
def _entries(content: bytes) -> tuple[bytes, ...]:
    """A tree's entries as they are written in it."""
    found: list[bytes] = _WHOLE_ENTRY.findall(content)
    last = _ENTRY.fullmatch(found[-1]) if found else None
    if last is not None and last[4]:  # where something is no entry, it is the last piece
        raise StoreDamaged(_NO_TREE)
    return tuple(found)


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
