"""`daemon.json`: found, checked to be ours, read. Nothing is asked of the daemon here."""

import os
import stat

import msgspec

from backtrail.errors import DaemonUnreachable, ProtocolMismatch, UntrustedDaemon
from backtrail.protocol import VERSION, ConnectionFile

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH
# Far more than a connection file ever has.
_MAX_BYTES = 64 * 1024


class _Spoken(msgspec.Struct):
    """What every version of the file says."""

    protocol: int
    pid: int = 0


def read_connection(path: str | os.PathLike[str]) -> ConnectionFile | None:
    """Where the daemon listens; None if the file is not there, or is not whole after a power cut.

    None, too, where its sockets are somebody else's by now: a daemon that was killed may have left the file, and
    a short folder of its own in /tmp, which is cleaned up and then free for anybody.
    """
    data = _read_trusted(os.fspath(path))
    if data is None:
        return None
    try:
        spoken = msgspec.json.decode(data, type=_Spoken)
        _check_version(spoken, os.fspath(path))
        found = msgspec.json.decode(data, type=ConnectionFile)
    except msgspec.MsgspecError:
        return None
    return found if all(map(_is_ours, (found.requests, found.events))) else None


def _read_trusted(path: str) -> bytes | None:
    """The content of a file that nobody but this user can have written."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        if os.path.islink(path):
            raise _untrusted(path, "it is a symbolic link") from error
        raise DaemonUnreachable(
            f"The connection file {path} can't be read: {error.strerror}.", "Look at its permissions."
        ) from error
    try:
        _check_owner(path, os.fstat(descriptor))
        return os.read(descriptor, _MAX_BYTES)
    finally:
        os.close(descriptor)


def _is_ours(endpoint: str) -> bool:
    """Can nobody else have put a socket there? One that is not there is no danger, and nobody listens there."""
    if not endpoint.startswith("ipc://"):
        return True
    path = endpoint.removeprefix("ipc://")
    try:
        socket, folder = os.lstat(path), os.lstat(os.path.dirname(path))
    except (OSError, ValueError):
        return True
    is_safe = not folder.st_mode & _OTHERS_MAY_WRITE or bool(folder.st_mode & stat.S_ISVTX)
    return socket.st_uid == os.getuid() and folder.st_uid in (0, os.getuid()) and is_safe


def _check_owner(path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _untrusted(path, "it is not a file")
    if found.st_uid != os.getuid():
        raise _untrusted(path, f"it belongs to the user with the number {found.st_uid}")
    if found.st_mode & _OTHERS_MAY_WRITE:
        raise _untrusted(path, f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})")


def _untrusted(path: str, reason: str) -> UntrustedDaemon:
    return UntrustedDaemon(
        f"The connection file {path} is not trusted: {reason}.",
        "Whoever wrote it could read all that is sent to the daemon. Find out who did, then delete it.",
    )


def _check_version(spoken: _Spoken, path: str) -> None:
    if spoken.protocol == VERSION:
        return
    side = "newer" if spoken.protocol > VERSION else "older"
    raise ProtocolMismatch(
        f"The daemon speaks version {spoken.protocol} of the protocol, this client version {VERSION}.",
        f"The daemon is of a {side} release than the client. End it with `kill {spoken.pid}`; the next command "
        "starts the one that belongs to the client."
        if spoken.pid
        else f"Update the {side} side, or make {path} again.",
    )
