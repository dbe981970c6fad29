"""`daemon.json`: how clients find the daemon, there only while it answers."""

import contextlib
import os
import stat
from pathlib import Path

import msgspec

from backtrail import __version__, protocol
from backtrail.errors import StoreFailed
from backtrail.protocol import ConnectionFile
from backtrail.regular import read_regular
from backtraild import durable
from backtraild.server.sockets import PRIVATE_PREFIX, Endpoints

_LARGEST = 64 * 1024


def announce(file: Path, endpoints: Endpoints, epoch: str) -> None:
    """From now on clients find the daemon."""
    found = ConnectionFile(
        protocol=protocol.VERSION,
        version=__version__,
        pid=os.getpid(),
        epoch=epoch,
        requests=endpoints.requests,
        events=endpoints.events,
    )
    try:
        durable.replace_file(str(file), msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    except OSError as error:
        raise StoreFailed(f"{file} can't be written: {error.strerror or error}.") from error


_LARGEST = 64 * 1024


def withdraw(file: Path) -> None:
    """Clients find nobody any more."""
    with contextlib.suppress(OSError):
        os.unlink(file)


_LARGEST = 64 * 1024


def clean_up(file: Path) -> None:
    """Remove what a daemon that was killed left behind. The caller holds the daemon's lock."""
    try:
        old = msgspec.json.decode(read_regular(file, _LARGEST), type=ConnectionFile)
    except (OSError, msgspec.DecodeError, ValueError):
        old = None
    if old is not None:
        for endpoint in (old.requests, old.events):
            _remove(Path(endpoint.removeprefix("ipc://")))
    withdraw(file)


_LARGEST = 64 * 1024


def _remove(socket: Path) -> None:
    """Only what is a socket of ours in a private folder of ours: the file may say anything."""
    folder = socket.parent
    with contextlib.suppress(OSError):
        found = folder.lstat()
        is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
        if is_ours and folder.name.startswith(PRIVATE_PREFIX) and stat.S_ISSOCK(socket.lstat().st_mode):
            socket.unlink()
            folder.rmdir()  # fails as long as the other socket is there
