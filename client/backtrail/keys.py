"""Keys for use over a network: the daemon's own pair, and the public ones of the clients that are let in."""

import os
import re
import socket
import stat
import tomllib
from pathlib import Path

import msgspec
import zmq
from msgspec import Struct
from msgspec.structs import replace
from zmq.utils import z85

from backtrail import __version__, protocol
from backtrail.address import Address, parse
from backtrail.errors import BacktrailError, UsageError
from backtrail.paths import Places
from backtrail.protocol import ConnectionFile
from backtrail.regular import read_regular

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEY = re.compile(r"[!-~]{40}")
_MOST = 1024 * 1024  # bytes, far more than any of these files has


class KeysUnusable(BacktrailError):
    """A file with a key can't be read, can't be written, or is open to others."""

    code = "keys-unusable"


class Pair(msgspec.Struct, frozen=True):
    """A key pair for CURVE, as text in Z85."""

    public_key: str
    secret_key: str


class Invitation(Struct, frozen=True):
    """What a client needs on another machine: the file holds its secret key."""

    file: Path
    requests: str
    events: str


def server_pair(folder: Path) -> Pair | None:
    """The daemon's own pair; None if there is none yet."""
    file = folder / "server.json"
    try:
        if stat.S_IMODE(file.stat().st_mode) & 0o077:
            raise KeysUnusable(
                f"{file} holds the daemon's secret key, and others may read it.", f"chmod 600 {file}"
            )
        pair = msgspec.json.decode(read_regular(file, _MOST), type=Pair)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, ValueError) as error:
        raise KeysUnusable(f"The daemon's key pair in {file} can't be read: {error}.") from error
    if not (_KEY.fullmatch(pair.public_key) and _KEY.fullmatch(pair.secret_key)):
        raise KeysUnusable(f"{file} holds no key pair.", "Move it away and make new keys.")
    return pair


def is_let_in(folder: Path, key: bytes) -> bool:
    """Does a client's public key, as CURVE gives it, stand in one of the files? Read anew each time."""
    wanted = z85.encode(key).decode()
    try:
        files = [entry.path for entry in os.scandir(folder / "clients") if entry.name.endswith(".pub")]
    except OSError:
        return False
    return any(_public_key(file) == wanted for file in files)


def invite(places: Places, name: str, *, output: Path | None = None, host: str | None = None) -> Invitation:
    """Make the keys of a new client and let it in. `host` is how its machine reaches this one."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a name for a client.", "Letters, digits, dots, dashes and underscores make one."
        )
    address = _address(places, host)
    public, secret = _new_pair()
    file = (output or Path.cwd()) / f"{name}.json"
    clients = places.keys / "clients"
    admitted = clients / f"{name}.pub"
    if admitted.exists():
        raise UsageError(
            f"A client called {name} is let in already.", f"Delete {admitted} to keep it out from now on."
        )
    clients.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = ConnectionFile(
        protocol=protocol.VERSION,
        version=__version__,
        pid=0,
        epoch="",
        requests=address.requests,
        events=address.events,
        server_key=_own_pair(places.keys).public_key,
        public_key=public,
        secret_key=secret,
    )
    _write(file, msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    # Last: a key that is let in and that nobody has would be of no use.
    _write(admitted, f"{public}\n".encode())
    return Invitation(file, address.requests, address.events)


def _own_pair(folder: Path) -> Pair:
    pair = server_pair(folder)
    if pair is None:
        pair = Pair(*_new_pair())
        _write(folder / "server.json", msgspec.json.encode(pair) + b"\n")
    return pair


def _new_pair() -> tuple[str, str]:
    public, secret = zmq.curve_keypair()
    return public.decode(), secret.decode()


def _address(places: Places, host: str | None) -> Address:
    """Where the client finds the daemon, by what the configuration file says."""
    try:
        settings = tomllib.loads(read_regular(places.config_file, _MOST).decode())
        address = parse(settings["server"]["listen"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(
            f"{places.config_file} does not say at which address the daemon listens.",
            'Add a table [server] with listen = "ADDRESS:PORT" to it first.',
        ) from None
    if host is None and not address.is_everywhere:
        return address
    return replace(address, host=host or socket.gethostname())


def _public_key(file: str) -> str | None:
    try:
        return read_regular(file, _MOST).decode("ascii").strip()
    except (OSError, ValueError):
        return None


def _write(file: Path, content: bytes) -> None:
    """A new file that only its owner can read, from its first byte on."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(descriptor, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(descriptor)
    except FileExistsError:
        raise UsageError(f"{file} exists already.", "It is not overwritten: it may hold a key.") from None
    except OSError as error:
        raise KeysUnusable(f"{file} can't be written: {error.strerror or error}.") from error
