"""Answers on their way to peers that may be gone, or may not read."""

from collections import deque

import zmq

from backtraild.server.ledger import Ledger, Peer, Ticket

# How soon a peer that had no room for an answer is tried again: soon at first, then ever less often.
FIRST_RETRY_SECONDS = 0.005
LAST_RETRY_SECONDS = 1.0


class Deliveries:
    """Sends answers; those for which a peer has no room wait here. Used by the loop's thread alone."""

    def __init__(self, socket: "zmq.Socket[bytes]", ledger: Ledger) -> None:
        self._socket = socket
        self._ledger = ledger
        self._waiting: dict[bytes, deque[tuple[Ticket, bytes]]] = {}
        self._pause = FIRST_RETRY_SECONDS
        self._retry_at = 0.0

    def send(self, ticket: Ticket, answer: bytes) -> None:
        """Send an answer, or keep it until there is room, behind those that wait already."""
        name = ticket.peer[0]
        if name not in self._waiting and self._is_sent(ticket.peer, answer):
            self._ledger.settle(ticket)
            return
        self._ledger.resize(ticket, len(answer))
        self._waiting.setdefault(name, deque()).append((ticket, answer))

    def refuse(self, peer: Peer, answer: bytes) -> None:
        """Answer what was not admitted. A peer that has no room even for this does not read anyway."""
        self._is_sent(peer, answer)

    def patience(self, seconds: float, now: float) -> float:
        """How long the loop may wait."""
        return max(0.0, min(seconds, self._retry_at - now)) if self._waiting else seconds

    def retry(self, now: float) -> None:
        """Try again what had no room, if it is time."""
        if not self._waiting:
            self._pause = FIRST_RETRY_SECONDS
        elif now >= self._retry_at:
            moved = [self._has_sent_some(name) for name in list(self._waiting)]
            self._pause = FIRST_RETRY_SECONDS if any(moved) else min(self._pause * 2, LAST_RETRY_SECONDS)
            self._retry_at = now + self._pause

    def _has_sent_some(self, name: bytes) -> bool:
        answers = self._waiting[name]
        before = len(answers)
        while answers and self._is_sent(answers[0][0].peer, answers[0][1]):
            self._ledger.settle(answers.popleft()[0])
        if not answers:
            del self._waiting[name]
        return len(answers) < before

    def _is_sent(self, peer: Peer, answer: bytes) -> bool:
        """False if the peer has no room now. One that is gone has got all it will ever get."""
        try:
            self._socket.send_multipart([*peer, answer], zmq.DONTWAIT)
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            if error.errno != zmq.EHOSTUNREACH:
                raise
        return True
