"""What a connection to the daemon does: a request out, its answer in, or the news that there will be none."""

from typing import Protocol

from backtrail.protocol import ConnectionFile, Response
from backtrail.wire.deadline import Deadline
from backtrail.wire.exchange import OnProgress
from backtrail.wire.local import SCHEME, LocalConnection


class Connection(Protocol):
    """Used by one thread at a time, and thrown away after a request that was not answered."""

    def is_usable(self) -> bool:
        """Whether it was not lost while nobody looked."""

    def ask(
        self, request: str, payload: bytes, deadline: Deadline, on_progress: OnProgress | None = None
    ) -> Response:
        """Send a request and wait for its answer; raises `Lost` or `Silent` where there is none."""

    def close(self) -> None:
        """Let go of the socket; what was not sent yet never will be."""


def connect(where: ConnectionFile) -> Connection:
    """A connection of the kind that the daemon's endpoint asks for, which is made when it is first used."""
    if where.requests.startswith(SCHEME):
        return LocalConnection(where)
    from backtrail.wire.remote import RemoteConnection  # here, because ZeroMQ takes longer than most answers

    return RemoteConnection(where)
