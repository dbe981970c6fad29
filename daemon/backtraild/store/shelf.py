"""Contents that were read and checked, for a while: no more of them than there is room for."""

from backtraild.model import ObjectId

ROOM = 64 * 1024 * 1024


class Shelf:
    """What was put there first stays: who reads the same list twice begins with it again."""

    def __init__(self, room: int = ROOM) -> None:
        self._left = room
        self._contents: dict[ObjectId, bytes] = {}

    def get(self, oid: ObjectId) -> bytes | None:
        """A content that is here; None if it is not."""
        return self._contents.get(oid)

    def put(self, oid: ObjectId, content: bytes) -> bytes:
        """Keep a content if there is room for it; it is given back either way."""
        if oid not in self._contents and len(content) <= self._left:
            self._left -= len(content)
            self._contents[oid] = content
        return content
