"""Reading objects, every byte checked against its id.

libgit2 finds objects and undoes deltas. Only its pack backend is used: its reader of loose objects spins for
ever on a truncated file. Loose objects, which only foreign tools put here, are read by `loose`, and large
blobs are streamed by `stream`, because libgit2 wants all of an object in memory and holds the GIL.
"""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator

import pygit2

from backtrail.errors import StoreDamaged
from backtraild.model import Entry, ObjectId
from backtraild.store import loose, stream
from backtraild.store.objects import EMPTY_TREE, ObjectType, decode_tree, hash_prefix, object_id
from backtraild.store.text import count_text_lines

COUNTED_UP_TO = 4 * 1024 * 1024
STREAM_FROM = 8 * 1024 * 1024
TREE_CACHE_BYTES = 8 * 1024 * 1024
FRESH_LIMIT = 20_000

# What pygit2 makes of libgit2's complaints; a damaged size asks for more memory than there is.
_UNREADABLE = (pygit2.GitError, ValueError, OSError, MemoryError)

# Objects of every checkpoint lie in a pack of their own: without a limit each would keep a descriptor.
pygit2.option(pygit2.enums.Option.SET_MWINDOW_FILE_LIMIT, 64)


class Objects:
    """The objects of one repository, read-only. Used by one thread."""

    def __init__(self, git_dir: str) -> None:
        self._folder = os.path.join(git_dir, "objects")
        self._packs = pygit2.OdbBackendPack(self._folder)
        # Objects in packs that libgit2 has not seen yet: asking it to look again costs a folder listing.
        self._fresh: set[ObjectId] = set()
        self._trees: OrderedDict[ObjectId, bytes] = OrderedDict()
        self._trees_size = 0

    def has(self, oid: ObjectId) -> bool:
        """Is this object in a pack?"""
        return oid in self._fresh or self._packs.exists(pygit2.Oid(raw=oid))

    def added(self, oids: Iterable[ObjectId]) -> None:
        """Take note of objects that a finished pack holds."""
        self._fresh.update(oids)
        if len(self._fresh) > FRESH_LIMIT:
            self._refresh()

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
        for attempt in (1, 2):
            try:
                return int(self._packs.read_header(pygit2.Oid(raw=oid))[1])
            except KeyError:
                if attempt == 1:
                    self._refresh()
            except _UNREADABLE as error:
                raise _damaged(oid, str(error)) from error
        return len(self._find_loose(oid, ObjectType.BLOB))

    def lines(self, oid: ObjectId) -> int | None:
        """How many lines a blob has; None where it is not text, or too large to be counted."""
        return count_text_lines(self.read(oid)) if self.size(oid) <= COUNTED_UP_TO else None

    def chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """A blob's content piece by piece; damage is raised in place of the end."""
        size = self.size(oid)
        pieces = stream.blob_pieces(self._folder, oid, size) if size >= STREAM_FROM else None
        if pieces is None:
            yield self.read_blob(oid)
            return
        digest = hashlib.sha1(hash_prefix(ObjectType.BLOB, size), usedforsecurity=False)
        for piece in pieces:
            digest.update(piece)
            yield piece
        if digest.digest() != oid:
            raise _damaged(oid, "its content has changed")

    def _find(self, oid: ObjectId, kind: ObjectType) -> bytes:
        for attempt in (1, 2):
            try:
                found, content = self._packs.read(pygit2.Oid(raw=oid))
            except KeyError:
                if attempt == 1:
                    self._refresh()
            except _UNREADABLE as error:
                raise _damaged(oid, str(error)) from error
            else:
                if found != kind:
                    raise _damaged(oid, "it has another type than expected")
                return content
        return self._find_loose(oid, kind)

    def _find_loose(self, oid: ObjectId, kind: ObjectType) -> bytes:
        content = loose.read(self._folder, oid, kind)
        if content is None:
            raise _damaged(oid, "it is missing")
        return content

    def _refresh(self) -> None:
        self._packs.refresh()
        self._fresh.clear()


def _damaged(oid: ObjectId, reason: str) -> StoreDamaged:
    return StoreDamaged(
        f"Object {oid.hex()} in the store can't be used: {reason}.",
        "Other checkpoints may hold an intact copy of the same files.",
    )
