"""Contents that a save captured or a comparison read: what was just edited is compared next, and the next time, too."""

from backtraild.model import ObjectId
from backtraild.store.reader import COUNTED_UP_TO, Objects
from backtraild.store.text import count_text_lines

_BESIDE_CONTENT = 250  # what a content takes that is empty


class RecentContent:
    """A `ContentSource` over the store that remembers. Not for restores: memory must not hide damage from them."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def size(self, oid: ObjectId) -> int:
        """Length of a blob."""
        content = self._objects.recent.get(oid)
        return self._objects.size(oid) if content is None else len(content)

    def lines(self, oid: ObjectId) -> int | None:
        """How many lines a blob has; None where it is not text, or too large to be counted."""
        content = self.read_up_to(COUNTED_UP_TO, oid)
        return None if content is None else count_text_lines(content)

    def read(self, oid: ObjectId) -> bytes:
        """A blob's whole content."""
        content = self._objects.recent.get(oid)
        return self.remember(oid, self._objects.read_blob(oid)) if content is None else content

    def read_up_to(self, most: int, oid: ObjectId) -> bytes | None:
        """The same; None where it is longer than that."""
        content = self._objects.recent.get(oid)
        if content is not None:
            return content if len(content) <= most else None
        content = self._objects.read_up_to(most, oid)
        return None if content is None else self.remember(oid, content)

    def remember(self, oid: ObjectId, content: bytes) -> bytes:
        """Keep a content, if it is small; it is given back either way."""
        self._objects.recent.keep(oid, content, len(content) + _BESIDE_CONTENT)
        return content
