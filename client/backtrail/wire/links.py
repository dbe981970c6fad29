"""ZeroMQ sockets that connect once and tell what becomes of the connection; all socket options are set here."""

import itertools
import os
import struct
from enum import Enum
from typing import Any, cast

import zmq

from backtrail.protocol import ConnectionFile

# A connection is thrown away when it is lost, never mended behind our back. Reconnecting can't be turned off
# without also losing what was received last, so it is put off beyond any program's life.
_NEVER = 2**31 - 1
_MAX_SOCKETS = 16_384
# Over tcp a peer can vanish without a word.
_TCP_HEARTBEAT, _TCP_PATIENCE = 10_000, 30_000
_EVENT = struct.Struct("=hi")

_contexts: "dict[int, zmq.Context[zmq.Socket[bytes]]]" = {}
_numbers = itertools.count()


class Fate(Enum):
    """What a monitor tells about a connection."""

    UP = "up"
    LOST = "lost"
    DENIED = "denied"


_FATES = {
    zmq.Event.HANDSHAKE_SUCCEEDED: Fate.UP,
    zmq.Event.HANDSHAKE_FAILED_AUTH: Fate.DENIED,
    zmq.Event.HANDSHAKE_FAILED_PROTOCOL: Fate.LOST,
    zmq.Event.HANDSHAKE_FAILED_NO_DETAIL: Fate.LOST,
    zmq.Event.DISCONNECTED: Fate.LOST,
    zmq.Event.CLOSED: Fate.LOST,
    zmq.Event.CONNECT_RETRIED: Fate.LOST,
}
_HEARD = sum(_FATES)


def context() -> "zmq.Context[zmq.Socket[bytes]]":
    """The one of this process: a forked child must not touch its parent's, nor let it be collected."""
    found = _contexts.get(os.getpid())
    if found is None:
        found = zmq.Context()
        found.set(zmq.MAX_SOCKETS, _MAX_SOCKETS)
        found = _contexts.setdefault(os.getpid(), found)
    return found


def connect(
    made: "zmq.Socket[Any]", monitor: "zmq.Socket[Any]", endpoint: str, where: ConnectionFile
) -> None:
    """Connect a fresh socket, and another one that tells what becomes of the connection."""
    made.linger = monitor.linger = 0
    made.reconnect_ivl = _NEVER
    if endpoint.startswith("tcp://"):
        made.ipv6 = True
        made.heartbeat_ivl, made.heartbeat_timeout = _TCP_HEARTBEAT, _TCP_PATIENCE
        _use_keys(made, where)
    address = f"inproc://backtrail-monitor-{next(_numbers)}"
    made.monitor(address, _HEARD)
    # In this order: what happens before anybody listens is told to nobody, and would be waited for in vain.
    monitor.connect(address)
    made.connect(endpoint)


def fate(message: list[bytes]) -> Fate:
    """What a message of a monitor means for the connection."""
    number, _ = _EVENT.unpack(message[0])
    return _FATES.get(number, Fate.LOST)


class Link:
    """A socket and its monitor, used by one thread at a time."""

    def __init__(self, kind: zmq.SocketType, endpoint: str, where: ConnectionFile) -> None:
        self.socket = context().socket(kind)
        if kind == zmq.SUB:
            self.socket.subscribe(b"")
        self.monitor = context().socket(zmq.PAIR)
        connect(self.socket, self.monitor, endpoint, where)

    def fate(self) -> Fate | None:
        """What the monitor has to tell now, if anything."""
        # Mostly nothing: to ask is far quicker than an exception.
        if not cast(int, self.monitor.events) & zmq.POLLIN:
            return None
        return fate(self.monitor.recv_multipart(zmq.NOBLOCK))

    def close(self) -> None:
        """Let go of both sockets."""
        self.socket.disable_monitor()
        self.socket.close()
        self.monitor.close()


def _use_keys(made: "zmq.Socket[Any]", where: ConnectionFile) -> None:
    if where.server_key and where.public_key and where.secret_key:
        made.curve_serverkey = where.server_key.encode()
        made.curve_publickey = where.public_key.encode()
        made.curve_secretkey = where.secret_key.encode()
