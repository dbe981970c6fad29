"""Reading a file of a checkpoint piece by piece, and looking into its folders."""

from collections.abc import Iterator

from msgspec import Struct

from backtrail.errors import UnknownPath
from backtrail.pathtext import to_text
from backtraild.model import TREE_MODE, Entry, ObjectId, Path
from backtraild.workspace.history import History
from backtraild.workspace.parts import Parts


class Piece(Struct, frozen=True):
    """A part of a file's content, or what a folder holds."""

    path: Path
    mode: int
    size: int
    offset: int = 0
    content: bytes = b""
    entries: tuple[tuple[bytes, int], ...] = ()  # name and mode


class Pieces:
    """Remembers where the last reader of a large file was: going on from there costs only what is read."""

    def __init__(self, parts: Parts, history: History) -> None:
        self._parts = parts
        self._history = history
        self._reading: _Reading | None = None

    def read(self, name: str, path: Path, offset: int, length: int) -> Piece:
        """At most `length` bytes of one file from an offset, or a folder's entries."""
        objects = self._parts.store.objects
        checkpoint = self._history.find(name)
        entry = self._history.entry(checkpoint, path)
        if entry is None:
            raise UnknownPath(f"Checkpoint {checkpoint.number} holds nothing at {to_text(path)}.")
        if entry.mode == TREE_MODE:
            found = sorted(objects.read_tree(entry.oid).items())
            return Piece(path, entry.mode, 0, entries=tuple((each, inner.mode) for each, inner in found))
        size = objects.size(entry.oid)
        return Piece(path, entry.mode, size, offset, self._content(entry, size, offset, length))

    def _content(self, entry: Entry, size: int, offset: int, length: int) -> bytes:
        if offset >= size:
            return b""
        reading, self._reading = self._reading, None
        if reading is None or reading.oid != entry.oid or not reading.can_go_to(offset):
            reading = _Reading(entry.oid, self._parts.store.objects.chunks(entry.oid))
        content = reading.read(offset, length)
        if reading.position < size:
            self._reading = reading
        return content


class _Reading:
    """One pass over a content, which can't go back."""

    def __init__(self, oid: ObjectId, chunks: Iterator[bytes]) -> None:
        self.oid = oid
        self.position = 0
        self._chunks = chunks
        self._rest = memoryview(b"")  # read already, and not asked for yet

    def can_go_to(self, offset: int) -> bool:
        return offset >= self.position

    def read(self, offset: int, length: int) -> bytes:
        """Pass over what comes before the offset, then read."""
        while self.position < offset and self._has_more():
            self._pass(offset - self.position)
        parts = []
        while length > 0 and self._has_more():
            part = self._pass(length)
            parts.append(part)
            length -= len(part)
        return b"".join(parts)

    def _has_more(self) -> bool:
        if not self._rest:
            self._rest = memoryview(next(self._chunks, b""))
        return bool(self._rest)

    def _pass(self, length: int) -> memoryview:
        part, self._rest = self._rest[:length], self._rest[length:]
        self.position += len(part)
        return part
