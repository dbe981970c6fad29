"""The thread that waits at the sockets: it never waits for the disk, nor for another thread that does.

Whoever has an answer sends it: waking this thread for it would take longer than sending. So the socket of requests, and
what is known of its peers, is used by one thread at a time, under a lock that is held for one message.
"""

import functools
import logging
import math
import select
import threading
import time
from collections.abc import Callable
from typing import cast

import zmq

from backtrail import protocol
from backtraild.server import doorkeeper, envelope
from backtraild.server.bulletin import Bulletin
from backtraild.server.deliveries import Deliveries
from backtraild.server.doorkeeper import Doorkeeper, Visitor
from backtraild.server.envelope import Refusal
from backtraild.server.ledger import Ledger, Peer, Ticket
from backtraild.server.outbox import Outbox
from backtraild.server.reception import Reception
from backtraild.server.sockets import Sockets

# Requests that are taken in one go before events and answers have their turn.
TURN = 100
# The sender's name, the delimiter of a REQ socket, and the request; one more tells that there are too many.
MAX_PARTS = 4

_MANY_PARTS = Refusal(None, protocol.INVALID_REQUEST, "A request is a message of one part.")

_log = logging.getLogger(__name__)


class Loop:
    """Reads requests, sends answers and events, lets peers in."""

    def __init__(
        self,
        sockets: Sockets,
        outbox: Outbox,
        bulletin: Bulletin,
        reception: Reception,
        doorkeeper: Doorkeeper,
        failed: Callable[[], None],
    ) -> None:
        self._sockets = sockets
        self._outbox = outbox
        self._bulletin = bulletin
        self._reception = reception
        self._doorkeeper = doorkeeper
        self._failed = failed
        self._ledger = Ledger()
        self._deliveries = Deliveries(sockets.requests, self._ledger, reception.spare)
        self._is_ending = self._is_closed = False
        self._at_sockets = threading.RLock()
        self._thread = threading.Thread(target=self._run, name="sockets")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self) -> None:
        """Send what was posted before, close the sockets, and wait for that."""
        self._outbox.post(self._note_end)
        self._thread.join()

    def _note_end(self) -> None:
        self._is_ending = True

    def _run(self) -> None:
        waiting = select.poll()
        for each in (self._sockets.zap.FD, self._sockets.requests.FD, self._outbox.descriptor):
            waiting.register(each, select.POLLIN)
        try:
            seconds = 0.0
            while not self._is_ending:
                ready = waiting.poll(math.ceil(seconds * 1000))
                seconds = self._turn(has_errands=(self._outbox.descriptor, select.POLLIN) in ready)
        except Exception:
            _log.exception("The socket loop has failed; the daemon ends.")
            self._failed()
        finally:
            with self._at_sockets:
                self._is_closed = True
                self._sockets.close()

    def _turn(self, *, has_errands: bool) -> float:
        """Do what there is to do; how long to wait then, which is not at all while more has come.

        A descriptor of ZeroMQ tells of a message once, and never of one that came before the last look at its socket.
        """
        self._take_turn(self._take_request)
        self._take_turn(self._admit)
        for errand in self._outbox.take() if has_errands else ():
            self._safely(errand)
        now = time.monotonic()
        with self._at_sockets:
            self._deliveries.retry(now)
            seconds = self._deliveries.patience(self._bulletin.heartbeat(now), now)
            has_more = _has_come(self._sockets.requests) or _has_come(self._sockets.zap)
        return 0.0 if has_more else seconds

    def _take_turn(self, step: Callable[[], bool]) -> None:
        for _ in range(TURN):
            if not self._safely(step):
                return

    def _safely(self, step: Callable[[], object]) -> object:
        """One message must not end the daemon, whatever is wrong with it."""
        try:
            return step()
        except Exception:
            _log.exception("The socket loop goes on after a failure.")
            return True

    def _admit(self) -> bool:
        """Let one peer in or not; False if none waits."""
        # Asked for what is not there, it would raise, which takes longer than everything else here.
        if not _has_come(self._sockets.zap):
            return False
        visitor = doorkeeper.read(self._sockets.zap.recv_multipart(zmq.DONTWAIT))
        self._doorkeeper.judge(visitor, functools.partial(self._judged, visitor))
        return True

    def _judged(self, visitor: Visitor, is_welcome: bool) -> None:
        answer = visitor.answer(is_welcome=is_welcome)
        self._here(functools.partial(self._sockets.zap.send_multipart, answer, zmq.DONTWAIT))

    def _take_request(self) -> bool:
        """Have one request answered; False if there is none."""
        with self._at_sockets:
            if not _has_come(self._sockets.requests):
                return False
            ticket = self._ticket(self._receive())
        if ticket is not None:
            self._reception.take(ticket.payload, functools.partial(self._reply, ticket))
        return True

    def _receive(self) -> list[bytes]:
        """One message. Parts that no request has are not kept: there may be millions."""
        socket = self._sockets.requests
        frames: list[bytes] = []
        while True:
            frame = socket.recv(zmq.DONTWAIT)
            if len(frames) < MAX_PARTS:
                frames.append(frame)
            if not socket.getsockopt(zmq.RCVMORE):
                return frames

    def _ticket(self, frames: list[bytes]) -> Ticket | None:
        """For a request that is well-formed and has room; any other is refused here."""
        peer: Peer = tuple(frames[:2]) if len(frames) > 2 and not frames[1] else (frames[0],)
        if len(frames) != len(peer) + 1:
            self._deliveries.refuse(peer, _MANY_PARTS.encode())
            return None
        ticket = self._ledger.admit(peer, frames[-1])
        if ticket is None:
            self._deliveries.refuse(peer, envelope.busy(frames[-1]))
        return ticket

    def _reply(self, ticket: Ticket, answer: bytes) -> None:
        with self._at_sockets:
            if self._is_closed:
                return
            self._safely(functools.partial(self._deliveries.send, ticket, answer))
            # This thread may have been told of messages that came meanwhile; the loop's would never hear of them.
            if threading.current_thread() is not self._thread and (
                self._deliveries.is_waiting or _has_come(self._sockets.requests)
            ):
                self._outbox.wake()

    def _here(self, errand: Callable[[], object]) -> None:
        """Do something in the loop's thread."""
        if threading.current_thread() is self._thread:
            errand()
        else:
            self._outbox.post(errand)


def _has_come(socket: "zmq.Socket[bytes]") -> bool:
    return bool(cast(int, socket.events) & zmq.POLLIN)
