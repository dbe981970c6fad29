"""What a client may find behind a socket: ZeroMQ itself, or somebody who does with the connection what it likes."""

import contextlib
import os
import select
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import zmq

from backtrail.protocol import VERSION, ConnectionFile
from backtraild.server.doorkeeper import read
from support import zmtp

Answer = Callable[[list[bytes]], list[list[bytes]]]
Deed = Callable[[socket.socket], object]
INTRODUCED = zmtp.GREETING + zmtp.ready(b"ROUTER")
_SECONDS = 20.0


def at(path: str | os.PathLike[str]) -> ConnectionFile:
    """What a connection file says of a daemon that listens there."""
    return ConnectionFile(VERSION, "0.1.0", 1, "epoch", f"ipc://{os.fspath(path)}", f"ipc://{path}.events")


def answer(request: str, result: object = None) -> bytes:
    """An answer as the daemon gives it."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": request, "result": result})


@contextlib.contextmanager
def router(path: Path, answers: Answer, *, denies: bool = False) -> Iterator[ConnectionFile]:
    """A real ROUTER, in a thread, that gives these answers to each message, or lets nobody in."""
    context = zmq.Context()
    made, zap, (ear, waker) = context.socket(zmq.ROUTER), context.socket(zmq.ROUTER), socket.socketpair()
    if denies:
        zap.bind("inproc://zeromq.zap.01")
        made.zap_domain = b"local"
    made.bind(f"ipc://{path}")
    thread = threading.Thread(target=_serve, args=(made, zap, ear, answers))
    thread.start()
    try:
        yield at(path)
    finally:
        waker.send(b"!")
        thread.join()
        context.destroy(linger=0)
        ear.close()
        waker.close()


def _serve(made: "zmq.Socket[bytes]", zap: "zmq.Socket[bytes]", ear: socket.socket, answers: Answer) -> None:
    poller = zmq.Poller()
    for each in (made, zap, ear):
        poller.register(each, zmq.POLLIN)
    while ear.fileno() not in (ready := dict(poller.poll())):
        if zap in ready:
            zap.send_multipart(read(zap.recv_multipart()).answer(is_welcome=False))
        if made in ready:
            name, *frames = made.recv_multipart()
            for answer in answers(frames):
                made.send_multipart([name, *answer])


@contextlib.contextmanager
def misbehaving(path: Path, *deeds: Deed) -> Iterator[ConnectionFile]:
    """A peer that does one thing after the other with its only connection, and closes it at the end of them."""
    listener = socket.socket(socket.AF_UNIX)
    listener.settimeout(_SECONDS)
    listener.bind(os.fspath(path))
    listener.listen()
    is_over = threading.Event()
    thread = threading.Thread(target=_misbehave, args=(listener, deeds, is_over))
    thread.start()
    try:
        yield at(path)
    finally:
        is_over.set()
        listener.close()
        thread.join()


def _misbehave(listener: socket.socket, deeds: tuple[Deed, ...], is_over: threading.Event) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError), listener.accept()[0] as raw:
        raw.settimeout(_SECONDS)
        for deed in deeds:
            if deed is silence:
                assert is_over.wait(_SECONDS), "nobody has given up"
            else:
                deed(raw)


def silence(raw: socket.socket) -> None:
    """Nothing, with the connection held, until the test is over."""
    raise AssertionError("this is waited for by whoever does it")


def says(words: bytes) -> Deed:
    """Send this."""
    return lambda raw: raw.sendall(words)


def takes(size: int) -> Deed:
    """Read so many bytes."""

    def take(raw: socket.socket) -> None:
        left = size
        while left:
            left -= len(raw.recv(left)) or left  # whoever is gone sends no more

    return take


def lets_in(raw: socket.socket) -> None:
    """Greet as ZeroMQ does, and take the client's greeting."""
    raw.sendall(INTRODUCED)
    takes(len(zmtp.GREETING + zmtp.ready(b"DEALER")))(raw)


def leaves_unread(raw: socket.socket) -> None:
    """Wait until something is there to be read, and do not read it: closing then breaks the connection."""
    assert select.select([raw], [], [], _SECONDS)[0]


def stops_its_ears(raw: socket.socket) -> None:
    """Whoever sends something more learns that it is not wanted; what is said to him still arrives."""
    raw.shutdown(socket.SHUT_RD)


def hears(payload: bytes) -> Deed:
    """Read a whole request."""
    return takes(len(zmtp.frame(payload)))
