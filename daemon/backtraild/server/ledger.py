"""How much is under way, for whom, and whether there is room for more. Pure."""

from collections import Counter

from msgspec import Struct

Peer = tuple[bytes, ...]  # the frames that come before an answer; the first is the name of the connection

MAX_OF_ONE = 1_000
MAX_OF_ALL = 10_000
MAX_BYTES = 256 * 1024 * 1024
# Whoever does not read leaves this much of it to the others.
MAX_BYTES_OF_ONE = 192 * 1024 * 1024


class Ticket(Struct):
    """A request that is under way: whose it is, what it said, and how much memory it holds."""

    peer: Peer
    payload: bytes
    size: int


class Ledger:
    """Counts tickets."""

    def __init__(self) -> None:
        self._of_one: Counter[bytes] = Counter()
        self._of_all = 0
        self._bytes = 0
        self._bytes_of_one: Counter[bytes] = Counter()

    def admit(self, peer: Peer, payload: bytes) -> Ticket | None:
        """A ticket for a request; None if there is no room."""
        name, size = peer[0], len(payload)
        if self._of_one[name] >= MAX_OF_ONE or self._of_all >= MAX_OF_ALL or not self._fits(name, size):
            return None
        self._of_one[name] += 1
        self._of_all += 1
        self._count(name, size)
        return Ticket(peer, payload, size)

    def has_room(self, ticket: Ticket, answer: bytes) -> bool:
        """May an answer wait until its peer reads it?"""
        return self._fits(ticket.peer[0], len(answer))

    def keep(self, ticket: Ticket, answer: bytes) -> None:
        """A request holds more memory from now on: its answer is there, and not gone yet."""
        self._count(ticket.peer[0], len(answer))
        ticket.size += len(answer)

    def settle(self, ticket: Ticket) -> None:
        """A request has been answered."""
        name = ticket.peer[0]
        self._of_one[name] -= 1
        if not self._of_one[name]:
            del self._of_one[name]  # connections come and go; what is counted must not grow with them
        self._of_all -= 1
        self._count(name, -ticket.size)

    def _fits(self, name: bytes, size: int) -> bool:
        return self._bytes + size <= MAX_BYTES and self._bytes_of_one[name] + size <= MAX_BYTES_OF_ONE

    def _count(self, name: bytes, size: int) -> None:
        self._bytes += size
        self._bytes_of_one[name] += size
        if not self._bytes_of_one[name]:
            del self._bytes_of_one[name]
