"""A connection to a daemon on this machine: a Unix socket that speaks ZMTP itself, without ZeroMQ and its threads."""

import contextlib
import select
import socket
from collections.abc import Callable, Iterator

from backtrail.protocol import ConnectionFile, Response
from backtrail.wire import zmtp
from backtrail.wire.deadline import Deadline
from backtrail.wire.exchange import Lost, OnProgress, Silent, response_of

SCHEME = "ipc://"
# A peer that accepts and then says nothing is given up after this, as ZeroMQ does it.
HANDSHAKE_SECONDS = 30.0
# Far beyond the 192 MiB up to which the daemon keeps answers: what it has done, it tells however long that is.
MAX_ANSWER_BYTES = 1024 * 1024 * 1024
# Read at a time. For more, the system would hand out fresh memory each time, which takes longer than the reading.
_READ_BYTES = 64 * 1024
_GONE = select.POLLHUP | select.POLLERR | select.POLLNVAL

_Hears = Callable[[Deadline], bool]


class LocalConnection:
    """Used by one thread at a time, and thrown away after a request that was not answered."""

    def __init__(self, where: ConnectionFile) -> None:
        self._where = where
        self._peer = zmtp.Peer(MAX_ANSWER_BYTES)
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.setblocking(False)
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)

    def is_usable(self) -> bool:
        """Whether it was not lost while nobody looked."""
        return not any(event & _GONE for _, event in self._poll.poll(0))

    def ask(
        self, request: str, payload: bytes, deadline: Deadline, on_progress: OnProgress | None = None
    ) -> Response:
        """Send a request and wait for its answer."""
        if on_progress is None:
            return self._asked(request, payload, deadline, self._hears)
        from backtrail.wire.progress import Progress  # here, because ZeroMQ takes longer than most answers

        progress = Progress(self._where, request, on_progress)
        try:
            progress.wait_until_up(deadline)
            return self._asked(
                request, payload, deadline, lambda limit: progress.tell_until_heard(self._socket, limit)
            )
        finally:
            progress.close()

    def close(self) -> None:
        """Let go of the socket. Not more than that: a forked child closes its copy of a parent's."""
        self._socket.close()

    def _asked(self, request: str, payload: bytes, deadline: Deadline, hears: _Hears) -> Response:
        if not self._peer.is_ready:
            self._introduce(deadline)
        self._send(zmtp.message(payload), deadline)
        while hears(deadline):
            for content in self._heard(deadline, sent=True):
                response = response_of([content])
                # An older request's answer may come first; it has nobody left to wait for it.
                if response is not None and response.id == request:
                    return response
            if deadline.passed():
                break
        raise Silent

    def _introduce(self, deadline: Deadline) -> None:
        """Connect, and wait until the peer has let us in: nothing is asked of one that may not."""
        limit = deadline.at_most(HANDSHAKE_SECONDS)
        try:
            self._socket.connect(self._where.requests.removeprefix(SCHEME).encode())
        except OSError:  # also where so many others wait that the system has no place left
            raise Lost(sent=False) from None
        self._send(zmtp.INTRODUCTION, limit)
        while not self._peer.is_ready:
            if not self._hears(limit):
                raise Silent if deadline.passed() else Lost(sent=False)
            for _ in self._heard(limit, sent=False):
                pass  # an answer to nothing

    def _send(self, content: bytes, deadline: Deadline) -> None:
        """All of it. A peer can't make anything of less, so that until the end nothing was sent."""
        left = memoryview(content)
        while left:
            try:
                left = left[self._socket.send(left) :]
            except BlockingIOError:
                self._await_room(deadline)
            except OSError:
                raise Lost(sent=False) from None

    def _await_room(self, deadline: Deadline) -> None:
        room = select.poll()
        room.register(self._socket, select.POLLOUT)
        if not room.poll(deadline.milliseconds()):
            raise Silent

    def _hears(self, deadline: Deadline) -> bool:
        """Whether something comes before the deadline, be it the end."""
        return bool(self._poll.poll(deadline.milliseconds()))

    def _heard(self, deadline: Deadline, *, sent: bool) -> Iterator[bytes]:
        """The messages that have come; what came in before the end is handed on before the end is told."""
        try:
            data = self._socket.recv(_READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            raise Lost(sent=sent)
        try:
            yield from self._peer.hear(data)
        except (zmtp.Violation, zmtp.Denied) as error:
            raise Lost(sent=sent, denied=isinstance(error, zmtp.Denied)) from None
        with contextlib.suppress(Lost):  # which is told by what is read, after what has come before
            self._send(self._peer.replies(), deadline)
