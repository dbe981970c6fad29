"""Content and folders of which some are damaged: what can't be read counts as unknown, and nothing fails for it."""

from collections.abc import Callable

from backtrail.errors import StoreDamaged
from backtraild.model import Entry, ObjectId
from backtraild.store import ContentSource

ReadTree = Callable[[ObjectId], dict[bytes, Entry]]


class ForgivingContent:
    """A `ContentSource` over another one. What is damaged counts as binary, of which no lines are told."""

    def __init__(self, content: ContentSource) -> None:
        self._content = content

    def size(self, oid: ObjectId) -> int:
        """Length of a blob; 0 where it is not known."""
        try:
            return self._content.size(oid)
        except StoreDamaged:
            return 0

    def lines(self, oid: ObjectId) -> int | None:
        """How many lines a blob has, if that can be told."""
        try:
            return self._content.lines(oid)
        except StoreDamaged:
            return None

    def read(self, oid: ObjectId) -> bytes:
        """A blob's whole content."""
        try:
            return self._content.read(oid)
        except StoreDamaged:
            return b"\0"

    def read_up_to(self, most: int, oid: ObjectId) -> bytes | None:
        """The same; None where it is longer than that."""
        try:
            return self._content.read_up_to(most, oid)
        except StoreDamaged:
            return b"\0"


def forgiving(read: ReadTree) -> ReadTree:
    """A way to read folders to which a damaged one is empty."""

    def read_tree(oid: ObjectId) -> dict[bytes, Entry]:
        try:
            return read(oid)
        except StoreDamaged:
            return {}

    return read_tree
