"""Reading objects, every byte checked against its id.

Nearly all lie in packs, which `packs` reads; loose ones, which only foreign tools put here, are read by
`loose`. libgit2 reads neither: on some damaged files it crashes or hangs, and it wants all of an object in
memory.
"""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import TypeVar

from backtrail.errors import StoreDamaged
from backtraild.model import Entry, ObjectId
from backtraild.store import loose
from backtraild.store.objects import EMPTY_TREE, ObjectType, decode_tree, hash_prefix, object_id
from backtraild.store.packs import DAMAGE, Packs
from backtraild.store.text import count_text_lines

COUNTED_UP_TO = 4 * 1024 * 1024
STREAM_FROM = 8 * 1024 * 1024
TREE_CACHE_BYTES = 8 * 1024 * 1024

_Found = TypeVar("_Found")


class Objects:
    """The objects of one repository, read-only. Used by one thread."""

    def __init__(self, git_dir: str) -> None:
        self._folder = os.path.join(git_dir, "objects")
        self._packs = Packs(os.path.join(self._folder, "pack"))
        self._packs.refresh()
        self._trees: OrderedDict[ObjectId, bytes] = OrderedDict()
        self._trees_size = 0

    def has(self, oid: ObjectId) -> bool:
        """Is this object in a pack?"""
        return self._packs.has(oid)

    def added(self, stem: str) -> None:
        """Take note of a finished pack, without listing the folder for it."""
        self._packs.added(os.path.basename(stem))

    def read(self, oid: ObjectId, kind: ObjectType = ObjectType.BLOB) -> bytes:
        """An object's whole content. Raises StoreDamaged unless it is exactly what was stored."""
        content = self._find(oid, kind)
        if object_id(kind, content) != oid:
            raise _damaged(oid, "its content has changed")
        return content

    def read_blob(self, oid: ObjectId) -> bytes:
        """A file's whole content."""
        return self.read(oid, ObjectType.BLOB)

    def read_tree(self, oid: ObjectId) -> dict[bytes, Entry]:
        """A folder's entries; the most recently used folders are kept in memory."""
        content = self._trees.get(oid)
        if content is None:
            content = b"" if oid == EMPTY_TREE else self.read(oid, ObjectType.TREE)
            self.keep_tree(oid, content)
        else:
            self._trees.move_to_end(oid)
        return decode_tree(content)

    def keep_tree(self, oid: ObjectId, content: bytes) -> None:
        """Remember a tree, so that the next save reads nothing."""
        if oid in self._trees or len(content) > TREE_CACHE_BYTES:
            return
        self._trees[oid] = content
        self._trees_size += len(content)
        while self._trees_size > TREE_CACHE_BYTES:
            self._trees_size -= len(self._trees.popitem(last=False)[1])

    def size(self, oid: ObjectId) -> int:
        """Length of a blob, from its header."""
        size = self._look(oid, self._packs.size)
        return len(self._find_loose(oid, ObjectType.BLOB)) if size is None else size

    def lines(self, oid: ObjectId) -> int | None:
        """How many lines a blob has; None where it is not text, or too large to be counted."""
        return count_text_lines(self.read(oid)) if self.size(oid) <= COUNTED_UP_TO else None

    def chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """A blob's content piece by piece; damage is raised in place of the end."""
        size = self.size(oid)
        pieces = self._look(oid, self._packs.blob_pieces) if size >= STREAM_FROM else None
        if pieces is None:
            yield self.read_blob(oid)
            return
        digest = hashlib.sha1(hash_prefix(ObjectType.BLOB, size), usedforsecurity=False)
        while piece := self._next(oid, pieces):
            digest.update(piece)
            yield piece
        if digest.digest() != oid:
            raise _damaged(oid, "its content has changed")

    def _find(self, oid: ObjectId, kind: ObjectType) -> bytes:
        found = self._look(oid, self._packs.read)
        if found is None:
            return self._find_loose(oid, kind)
        if found[0] != kind:
            raise _damaged(oid, "it has another type than expected")
        return found[1]

    def _look(self, oid: ObjectId, call: Callable[[ObjectId], _Found | None]) -> _Found | None:
        """Ask the packs, and once more after a look for new ones: maintenance may have moved the object."""
        try:
            found = call(oid)
        except DAMAGE:
            found = None
        if found is None:
            try:
                self._packs.refresh()
                found = call(oid)
            except DAMAGE as error:
                raise _damaged(oid, str(error)) from error
        return found

    @staticmethod
    def _next(oid: ObjectId, pieces: Iterator[bytes]) -> bytes:
        try:
            return next(pieces, b"")
        except DAMAGE as error:
            raise _damaged(oid, str(error)) from error

    def _find_loose(self, oid: ObjectId, kind: ObjectType) -> bytes:
        content = loose.read(self._folder, oid, kind)
        if content is None:
            raise _damaged(oid, "it is missing")
        return content


def _damaged(oid: ObjectId, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"Object {oid.hex()} in the store can't be used: {reason}.",
        "Other checkpoints may hold an intact copy of the same files.",
    )
