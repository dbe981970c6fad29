"""A connection to a daemon elsewhere, through ZeroMQ, which encrypts it and notices where the other side vanishes."""

import zmq

from backtrail.protocol import ConnectionFile, Response
from backtrail.wire.deadline import Deadline
from backtrail.wire.exchange import Lost, OnProgress, Silent, response_of
from backtrail.wire.links import Fate, Link
from backtrail.wire.progress import Progress


class RemoteConnection:
    """Used by one thread at a time, and thrown away after a request that was not answered."""

    def __init__(self, where: ConnectionFile) -> None:
        self._where = where
        self._link = Link(zmq.DEALER, where.requests, where)
        self._poller = zmq.Poller()
        self._poller.register(self._link.socket, zmq.POLLIN)
        self._poller.register(self._link.monitor, zmq.POLLIN)
        self._is_up = False

    def is_usable(self) -> bool:
        """Whether it was not lost while nobody looked."""
        while (fate := self._link.fate()) is not None:
            if fate is not Fate.UP:
                return False
            self._is_up = True
        return True

    def ask(
        self, request: str, payload: bytes, deadline: Deadline, on_progress: OnProgress | None = None
    ) -> Response:
        """Send a request and wait for its answer."""
        if on_progress is None:
            self._send(payload)
            return self._await(request, deadline, None)
        progress = Progress(self._where, request, on_progress)
        self._poller.register(progress.socket, zmq.POLLIN)
        try:
            progress.wait_until_up(deadline)
            self._send(payload)
            return self._await(request, deadline, progress)
        finally:
            self._poller.unregister(progress.socket)
            progress.close()

    def close(self) -> None:
        """Let go of the socket; what was not sent yet never will be."""
        self._link.close()

    def _send(self, payload: bytes) -> None:
        if not self.is_usable():
            raise Lost(sent=False)
        try:
            self._link.socket.send(payload, zmq.NOBLOCK)
        except zmq.Again:
            raise Lost(sent=False) from None

    def _await(self, request: str, deadline: Deadline, progress: Progress | None) -> Response:
        while ready := dict(self._poller.poll(deadline.milliseconds())):
            if progress is not None:
                progress.tell()
            # The monitor is asked first and heeded last: an answer counts even if the connection was lost after it.
            fate = self._link.fate() if self._link.monitor in ready else None
            self._is_up = self._is_up or fate is Fate.UP
            if (response := self._received(request)) is not None:
                return response
            if fate not in (None, Fate.UP):
                raise Lost(sent=self._is_up, denied=fate is Fate.DENIED)
        raise Silent

    def _received(self, request: str) -> Response | None:
        """The answer, if it is there. An older request's may come first; it has nobody left to wait for it."""
        while True:
            try:
                response = response_of(self._link.socket.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                return None
            if response is not None and response.id == request:
                return response
