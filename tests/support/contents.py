"""Content by id, in memory, in place of a store."""

import hashlib

from backtraild.store.patch import MAX_COMPARED_BYTES
from backtraild.store.text import count_text_lines


class Contents(dict[bytes, bytes]):
    """A `ContentSource` that remembers what was read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads: list[bytes] = []

    def put(self, content: bytes) -> bytes:
        oid = hashlib.sha1(b"blob %d\0" % len(content) + content).digest()
        self[oid] = content
        return oid

    def size(self, oid: bytes) -> int:
        return len(self[oid])

    def read(self, oid: bytes) -> bytes:
        self.reads.append(oid)
        return self[oid]

    def read_up_to(self, most: int, oid: bytes) -> bytes | None:
        return self.read(oid) if self.size(oid) <= most else None

    def lines(self, oid: bytes) -> int | None:
        return count_text_lines(self.read(oid)) if self.size(oid) <= MAX_COMPARED_BYTES else None
