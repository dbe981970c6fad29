"""How much is under way, for whom, and whether there is room for more. Pure."""

from collections import Counter
from dataclasses import dataclass

Peer = tuple[bytes, ...]  # the frames that come before an answer; the first is the name of the connection

MAX_OF_ONE = 1_000
MAX_OF_ALL = 10_000
MAX_BYTES = 256 * 1024 * 1024


@dataclass(slots=True)
class Ticket:
    """A request that is under way: whose it is, and how much memory it holds."""

    peer: Peer
    size: int


class Ledger:
    """Counts tickets."""

    def __init__(self) -> None:
        self._of_one: Counter[bytes] = Counter()
        self._of_all = 0
        self._bytes = 0

    def admit(self, peer: Peer, size: int) -> Ticket | None:
        """A ticket for a request; None if there is no room."""
        if (
            self._of_one[peer[0]] >= MAX_OF_ONE
            or self._of_all >= MAX_OF_ALL
            or self._bytes + size > MAX_BYTES
        ):
            return None
        self._of_one[peer[0]] += 1
        self._of_all += 1
        self._bytes += size
        return Ticket(peer, size)

    def resize(self, ticket: Ticket, size: int) -> None:
        """A request holds another amount of memory: that of its answer."""
        self._bytes += size - ticket.size
        ticket.size = size

    def settle(self, ticket: Ticket) -> None:
        """A request has been answered."""
        name = ticket.peer[0]
        self._of_one[name] -= 1
        if not self._of_one[name]:
            del self._of_one[name]  # connections come and go; what is counted must not grow with them
        self._of_all -= 1
        self._bytes -= ticket.size
