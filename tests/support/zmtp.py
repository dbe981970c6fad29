"""ZeroMQ's own protocol written byte by byte: peers that break it wherever a real library would not."""

import contextlib
import errno
import socket
from collections.abc import Iterable, Iterator

GREETING = b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32)
MECHANISMS = (b"NULL", b"PLAIN", b"CURVE", b"GSSAPI", b"", b"\xff" * 20)


def greeting(mechanism: bytes, *, version: bytes = b"\x03\x00", as_server: bytes = b"\0") -> bytes:
    """How a peer begins."""
    return b"\xff" + bytes(8) + b"\x7f" + version + mechanism.ljust(20, b"\0") + as_server + bytes(31)


def command(name: bytes, body: bytes = b"") -> bytes:
    """A command frame."""
    return _frame(4, bytes([len(name)]) + name + body)


def ready(kind: bytes) -> bytes:
    """How a peer says what kind of socket it is."""
    return command(b"READY", b"\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind)


def frame(content: bytes, *, more: bool = False) -> bytes:
    """A part of a message."""
    return _frame(int(more), content)


def announced(size: int) -> bytes:
    """The beginning of a part that is said to have so many bytes."""
    return b"\x02" + size.to_bytes(8, "big")


def connected(endpoint: str, seconds: float = 20.0) -> socket.socket:
    """A raw connection to an endpoint of either kind."""
    kind, _, address = endpoint.partition("://")
    if kind == "ipc":
        raw = socket.socket(socket.AF_UNIX)
        raw.settimeout(seconds)
        raw.connect(address)
        return raw
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), seconds)


def introduced(endpoint: str, kind: bytes) -> socket.socket:
    """A peer that has said who it is, as the protocol wants it, and now says anything."""
    raw = connected(endpoint)
    raw.sendall(GREETING + ready(kind))
    assert raw.recv(64)
    return raw


def said(raw: socket.socket, *pieces: bytes) -> None:
    """Say something, and listen until the other side has had enough of it."""
    try:
        for piece in pieces:
            raw.sendall(piece)
        raw.shutdown(socket.SHUT_WR)
        while raw.recv(65536):
            pass
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN):
            raise


def flooded(raw: socket.socket, pieces: Iterable[bytes]) -> None:
    """Say as much of this as the other side takes without a pause, then go."""
    raw.settimeout(0.3)
    with contextlib.suppress(TimeoutError, BrokenPipeError, ConnectionResetError):
        for piece in pieces:
            raw.sendall(piece)


@contextlib.contextmanager
def crowd(endpoint: str, count: int, first_words: bytes = b"") -> Iterator[None]:
    """Many connections at a time, each of which says this much and nothing else."""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            raw = stack.enter_context(connected(endpoint))
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                raw.sendall(first_words)
        yield


def _frame(flags: int, content: bytes) -> bytes:
    if len(content) < 256:
        return bytes([flags, len(content)]) + content
    return bytes([flags | 2]) + len(content).to_bytes(8, "big") + content
