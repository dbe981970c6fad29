"""Content wanted before its checkpoint is finished: from the pack in the making, else from the store."""

from backtraild.model import ObjectId
from backtraild.store.pack import PackWriter
from backtraild.store.reader import Objects
from backtraild.store.recent import RecentContent


class PendingContent:
    """A `ContentSource` over an unfinished pack and the store below it."""

    def __init__(self, pack: PackWriter, objects: Objects) -> None:
        self._pack = pack
        self._stored = RecentContent(objects)

    def size(self, oid: ObjectId) -> int:
        """Length of a blob."""
        size = self._pack.blob_size(oid)
        return self._stored.size(oid) if size is None else size

    def lines(self, oid: ObjectId) -> int | None:
        """How many lines a blob has, counted when it was captured."""
        return self._pack.blob_lines(oid) if oid in self._pack.ids else self._stored.lines(oid)

    def read(self, oid: ObjectId) -> bytes:
        """A blob's whole content."""
        content = self._pack.read_blob(oid)
        return self._stored.read(oid) if content is None else self._stored.remember(oid, content)

    def read_up_to(self, most: int, oid: ObjectId) -> bytes | None:
        """The same; None where it is longer than that."""
        size = self._pack.blob_size(oid)
        if size is None:
            return self._stored.read_up_to(most, oid)
        return self.read(oid) if size <= most else None
