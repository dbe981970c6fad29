"""The sockets: where they are bound, who may be heard, and what they hold at most."""

import contextlib
import os
import tempfile
from pathlib import Path

import zmq
from msgspec import Struct

from backtrail import protocol
from backtrail.errors import BacktrailError
from backtrail.keys import Pair

# What ZeroMQ calls a door when it asks who may come in.
LOCAL = b"local"
NETWORK = b"network"
PRIVATE_PREFIX = "backtrail-"
# The system's limit for the path of a socket.
MAX_PATH_BYTES = 107
# A peer that connects and says nothing is dropped after this.
HANDSHAKE_MILLISECONDS = 3_000
# Peers that the kernel lets wait for ZeroMQ to greet them. With its usual 100, of 200 that come at once some are
# turned away.
PEERS_WAITING = 4096
# Requests that wait in ZeroMQ; the loop takes them out at once.
REQUESTS_WAITING = 100
# Answers that wait in ZeroMQ for a peer that does not read them. Each may hold a piece of a file.
ANSWERS_WAITING = 32
# Events that wait for a subscriber that does not read. Beyond it, that subscriber misses some: it sees the hole in
# the numbers, at the latest in the next heartbeat it reads, and asks for them with `events`.
EVENTS_WAITING = 10_000
MAX_SUBSCRIPTION_BYTES = 64 * 1024
# What has been answered gets this long to leave when the daemon ends.
LINGER_MILLISECONDS = 1_000


class SocketsUnavailable(BacktrailError):
    """The daemon can't listen."""

    code = "sockets-unavailable"


class Endpoints(Struct, frozen=True):
    """Where requests go, and where events come from."""

    requests: str
    events: str


class Network(Struct, frozen=True):
    """Where to listen besides the local sockets; without keys, in the clear."""

    endpoints: Endpoints
    keys: Pair | None


class Sockets:
    """Made in one thread and handed over to the loop's, which alone uses them from then on."""

    def __init__(self, runtime: Path, network: Network | None = None) -> None:
        self._folder, self._is_private = _folder(runtime)
        self.endpoints = Endpoints(f"ipc://{self._folder}/requests.sock", f"ipc://{self._folder}/events.sock")
        self._context = zmq.Context()
        try:
            self.zap = self._context.socket(zmq.ROUTER)
            # Before the others: as long as nobody answers there, they let nobody in.
            self.zap.bind("inproc://zeromq.zap.01")
            self.requests, self.events = self._make_requests(), self._make_events()
            for socket in (self.requests, self.events):
                _set_up(socket)
            self._bind(LOCAL, self.endpoints)
            if network is not None:
                self._protect(network.keys)
                self._bind(NETWORK, network.endpoints)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the sockets' files and unbind; give what was answered a moment to leave."""
        for endpoint in (self.endpoints.requests, self.endpoints.events):
            with contextlib.suppress(OSError):
                os.unlink(endpoint.removeprefix("ipc://"))
        if self._is_private:
            with contextlib.suppress(OSError):
                os.rmdir(self._folder)
        self._context.destroy(linger=LINGER_MILLISECONDS)

    def _make_requests(self) -> "zmq.Socket[bytes]":
        socket = self._context.socket(zmq.ROUTER)
        socket.setsockopt(zmq.MAXMSGSIZE, protocol.MAX_FRAME_BYTES)
        socket.setsockopt(zmq.RCVHWM, REQUESTS_WAITING)
        socket.setsockopt(zmq.SNDHWM, ANSWERS_WAITING)
        # Says so when a peer is gone or does not read, instead of dropping the answer silently.
        socket.setsockopt(zmq.ROUTER_MANDATORY, 1)
        # A peer may choose its name; one that comes back under it would otherwise be ignored until its old
        # connection is known to be dead.
        socket.setsockopt(zmq.ROUTER_HANDOVER, 1)
        return socket

    def _make_events(self) -> "zmq.Socket[bytes]":
        socket = self._context.socket(zmq.PUB)
        socket.setsockopt(zmq.MAXMSGSIZE, MAX_SUBSCRIPTION_BYTES)
        socket.setsockopt(zmq.SNDHWM, EVENTS_WAITING)
        return socket

    def _bind(self, door: bytes, endpoints: Endpoints) -> None:
        """Options hold for what is bound after they were set: each door has its own way of being guarded."""
        for socket, endpoint in ((self.requests, endpoints.requests), (self.events, endpoints.events)):
            socket.setsockopt(zmq.ZAP_DOMAIN, door)
            try:
                socket.bind(endpoint)
            except zmq.ZMQError as error:
                raise SocketsUnavailable(
                    f"The daemon can't listen at {endpoint}: {os.strerror(error.errno or 0)}.",
                    "Another program may use it, or this machine does not have this address.",
                ) from error

    def _protect(self, keys: Pair | None) -> None:
        for socket in (self.requests, self.events):
            # A machine that was cut off is noticed in the end.
            socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
            socket.setsockopt(zmq.IPV6, 1)
            if keys is not None:
                socket.setsockopt(zmq.CURVE_SERVER, 1)
                socket.setsockopt(zmq.CURVE_SECRETKEY, keys.secret_key.encode())


def _set_up(socket: "zmq.Socket[bytes]") -> None:
    socket.setsockopt(zmq.BACKLOG, PEERS_WAITING)
    socket.setsockopt(zmq.HANDSHAKE_IVL, HANDSHAKE_MILLISECONDS)
    socket.setsockopt(zmq.LINGER, LINGER_MILLISECONDS)


def _folder(runtime: Path) -> tuple[str, bool]:
    """Where the sockets go: the runtime folder, or a private one if its path is too long or no text."""
    if _is_usable(os.fspath(runtime)):
        return os.fspath(runtime), False
    folder = tempfile.mkdtemp(prefix=PRIVATE_PREFIX)
    if not _is_usable(folder):
        os.rmdir(folder)
        folder = tempfile.mkdtemp(prefix=PRIVATE_PREFIX, dir="/tmp")
    return folder, True


def _is_usable(folder: str) -> bool:
    """Short enough for the system, and text, as the connection file wants it."""
    try:
        return len(f"{folder}/requests.sock".encode()) <= MAX_PATH_BYTES
    except UnicodeEncodeError:
        return False
