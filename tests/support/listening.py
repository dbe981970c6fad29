"""A service manager's ear: the socket on which a daemon reports, and what came in."""

import contextlib
import os
import select
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest


class Ear:
    """A bound socket, as systemd hands it to what it starts."""

    def __init__(self, name: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(os.fsencode(name))

    def hear(self, seconds: float = 10.0) -> bytes:
        """The next message; an empty one if none comes in time."""
        readable, _, _ = select.select([self._socket], [], [], seconds)
        return self._socket.recv(4096) if readable else b""

    def close(self) -> None:
        self._socket.close()


@contextlib.contextmanager
def listening(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Ear]:
    """In this block a manager listens to this process."""
    ear = Ear(str(folder / "notify"))
    patch.setenv("NOTIFY_SOCKET", str(folder / "notify"))
    try:
        yield ear
    finally:
        ear.close()
