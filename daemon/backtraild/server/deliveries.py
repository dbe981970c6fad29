"""Answers on their way to peers that may be gone, or may not read."""

from collections import deque
from collections.abc import Callable

import zmq
from msgspec import Struct, field

from backtraild.server.ledger import Ledger, Peer, Ticket

# How soon a peer that had no room for an answer is tried again: soon at first, then ever less often.
FIRST_RETRY_SECONDS = 0.005
LAST_RETRY_SECONDS = 1.0
# A larger answer may be replaced where memory is short.
LARGE_BYTES = 64 * 1024
# ZeroMQ gets no more answers for a peer that has not taken so much yet: what it holds can't be taken back.
MAX_LEAVING_BYTES = 16 * 1024 * 1024

_GONE = zmq.MessageTracker()  # of what ZeroMQ has let go of already

# What may be said in place of the answer to a request; None where that answer must not be lost.
Spare = Callable[[bytes], bytes | None]


class _Queue(Struct):
    """What is on its way to one peer: answers that wait here, and those that ZeroMQ has not let go of yet."""

    waiting: deque[tuple[Ticket, bytes]] = field(default_factory=deque)
    leaving: deque[tuple[Ticket, zmq.MessageTracker]] = field(default_factory=deque)

    def __len__(self) -> int:
        return len(self.waiting) + len(self.leaving)

    def is_full(self) -> bool:
        return sum(ticket.size for ticket, _ in self.leaving) >= MAX_LEAVING_BYTES


class Deliveries:
    """Sends answers; those for which a peer has no room wait here. Used by one thread at a time."""

    def __init__(self, socket: "zmq.Socket[bytes]", ledger: Ledger, spare: Spare) -> None:
        self._socket = socket
        self._ledger = ledger
        self._spare = spare
        self._queues: dict[bytes, _Queue] = {}
        self._pause = FIRST_RETRY_SECONDS
        self._retry_at = 0.0

    @property
    def is_waiting(self) -> bool:
        """Is there anything that will have to be tried again?"""
        return bool(self._queues)

    def send(self, ticket: Ticket, answer: bytes) -> None:
        """Send an answer, or keep it until there is room, behind those that wait already."""
        if len(answer) > LARGE_BYTES and not self._ledger.has_room(ticket, answer):
            answer = self._spare(ticket.payload) or answer
        self._ledger.keep(ticket, answer)
        name = ticket.peer[0]
        self._queues.setdefault(name, _Queue()).waiting.append((ticket, answer))
        self._move(name)
        if name in self._queues:
            self._pause, self._retry_at = FIRST_RETRY_SECONDS, 0.0

    def refuse(self, peer: Peer, answer: bytes) -> None:
        """Answer what was not admitted. A peer that has no room even for this does not read anyway."""
        self._handed_over(peer, answer)

    def patience(self, seconds: float, now: float) -> float:
        """How long the loop may wait."""
        return max(0.0, min(seconds, self._retry_at - now)) if self._queues else seconds

    def retry(self, now: float) -> None:
        """Try again what had no room, if it is time."""
        if self._queues and now >= self._retry_at:
            moved = [self._move(name) for name in list(self._queues)]
            self._pause = FIRST_RETRY_SECONDS if any(moved) else min(self._pause * 2, LAST_RETRY_SECONDS)
            self._retry_at = now + self._pause

    def _move(self, name: bytes) -> bool:
        """Hand over what ZeroMQ takes, and settle what it has let go of; False if nothing could be done."""
        queue = self._queues[name]
        before = len(queue.waiting), len(queue.leaving)
        self._settle(queue)
        while queue.waiting and not queue.is_full():
            ticket, answer = queue.waiting[0]
            tracker = self._handed_over(ticket.peer, answer)
            if tracker is None:
                break
            queue.waiting.popleft()
            queue.leaving.append((ticket, tracker))
        self._settle(queue)
        if not queue:
            del self._queues[name]
        return (len(queue.waiting), len(queue.leaving)) != before

    def _settle(self, queue: _Queue) -> None:
        while queue.leaving and queue.leaving[0][1].done:
            self._ledger.settle(queue.leaving.popleft()[0])

    def _handed_over(self, peer: Peer, answer: bytes) -> zmq.MessageTracker | None:
        """What tells when ZeroMQ has let go of the answer; None if the peer has no room now."""
        try:
            if len(answer) > LARGE_BYTES:
                return self._socket.send_multipart([*peer, answer], zmq.DONTWAIT, copy=False, track=True)
            # Copied, it is ZeroMQ's own, which bounds how many of these wait for one peer.
            self._socket.send_multipart([*peer, answer], zmq.DONTWAIT)
        except zmq.Again:
            return None
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
        return _GONE  # or there is nobody left to take it
