"""The one thread that owns the sockets: it never waits for the disk, nor for any other thread."""

import contextlib
import functools
import logging
import math
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
        self._is_ending = False
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
        poller = zmq.Poller()
        for each in (self._sockets.zap, self._sockets.requests, self._outbox.descriptor):
            poller.register(each, zmq.POLLIN)
        try:
            while not self._is_ending:
                now = time.monotonic()
                seconds = self._deliveries.patience(self._bulletin.heartbeat(now), now)
                self._turn(dict(poller.poll(math.ceil(seconds * 1000))))
        except Exception:
            _log.exception("The socket loop has failed; the daemon ends.")
            self._failed()
        finally:
            self._sockets.close()

    def _turn(self, ready: dict[object, int]) -> None:
        if self._sockets.zap in ready:
            self._safely(self._admit)
        if self._sockets.requests in ready:
            self._safely(self._take_requests)
        self._deliveries.retry(time.monotonic())
        if self._outbox.descriptor in ready:
            for errand in self._outbox.take():
                self._safely(errand)

    def _safely(self, step: Callable[[], object]) -> None:
        """One message must not end the daemon, whatever is wrong with it."""
        try:
            step()
        except Exception:
            _log.exception("The socket loop goes on after a failure.")

    def _admit(self) -> None:
        visitor = doorkeeper.read(self._sockets.zap.recv_multipart(zmq.DONTWAIT))
        self._doorkeeper.judge(visitor, functools.partial(self._judged, visitor))

    def _judged(self, visitor: Visitor, is_welcome: bool) -> None:
        answer = visitor.answer(is_welcome=is_welcome)
        self._here(functools.partial(self._sockets.zap.send_multipart, answer, zmq.DONTWAIT))

    def _take_requests(self) -> None:
        with contextlib.suppress(zmq.Again):
            for _ in range(TURN):
                self._take(self._receive())
                # Asked for what is not there, it raises, which takes longer than everything else here.
                if not cast(int, self._sockets.requests.events) & zmq.POLLIN:
                    return

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

    def _take(self, frames: list[bytes]) -> None:
        peer: Peer = tuple(frames[:2]) if len(frames) > 2 and not frames[1] else (frames[0],)
        if len(frames) != len(peer) + 1:
            self._deliveries.refuse(peer, _MANY_PARTS.encode())
            return
        payload = frames[-1]
        ticket = self._ledger.admit(peer, payload)
        if ticket is None:
            self._deliveries.refuse(peer, envelope.busy(payload))
        else:
            self._reception.take(payload, functools.partial(self._reply, ticket))

    def _reply(self, ticket: Ticket, answer: bytes) -> None:
        self._here(functools.partial(self._deliveries.send, ticket, answer))

    def _here(self, errand: Callable[[], object]) -> None:
        """Do something in the loop's thread."""
        if threading.current_thread() is self._thread:
            errand()
        else:
            self._outbox.post(errand)
