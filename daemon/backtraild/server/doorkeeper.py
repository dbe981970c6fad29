"""Who may connect: this user, and whoever holds a key that was let in. ZeroMQ asks before it lets a peer speak."""

import logging
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from backtrail import keys
from backtraild.server.sockets import LOCAL

VERSION = b"1.0"

_log = logging.getLogger(__name__)


class Visitor(Struct, frozen=True):
    """What ZeroMQ says of a peer, and what its question is to be answered with."""

    way_back: bytes
    request: bytes
    domain: bytes
    address: str
    mechanism: bytes
    key: bytes

    def answer(self, *, is_welcome: bool) -> list[bytes]:
        """What ZeroMQ wants to hear."""
        status, text = (b"200", b"OK") if is_welcome else (b"400", b"Not for you")
        return [self.way_back, b"", VERSION, self.request, status, text, b"", b""]


def read(frames: Sequence[bytes]) -> Visitor:
    """ZeroMQ's question taken apart."""
    way_back, _, _, request, domain, address, _, mechanism, *credentials = frames
    key = credentials[0] if mechanism == b"CURVE" and credentials else b""
    return Visitor(way_back, request, domain, address.decode(errors="replace"), mechanism, key)


def is_same_user(address: str, user: int) -> bool:
    """The kernel vouches for the user of a local peer: its address ends in `:uid:gid:pid`."""
    parts = address.split(":")
    return len(parts) == 4 and parts[1] == str(user)


class Doorkeeper:
    """Decides about visitors: about local ones at once, about keys after a look at the files."""

    def __init__(self, folder: Path, *, demands_keys: bool) -> None:
        self._folder = folder
        self._demands_keys = demands_keys
        self._thread = ThreadPoolExecutor(1, "doorkeeper")

    def judge(self, visitor: Visitor, tell: Callable[[bool], None]) -> None:
        """Tell whether a visitor may come in; later, and from another thread, where that takes a disk."""
        if visitor.domain == LOCAL:
            tell(_noted(visitor, is_same_user(visitor.address, os.geteuid())))
        elif visitor.mechanism == b"CURVE":
            look = self._thread.submit(keys.is_let_in, self._folder, visitor.key)
            look.add_done_callback(lambda look: tell(_noted(visitor, _found(look))))
        else:
            tell(_noted(visitor, not self._demands_keys))

    def close(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown(cancel_futures=True)


def _found(look: "Future[bool]") -> bool:
    return not look.cancelled() and look.exception() is None and look.result()


def _noted(visitor: Visitor, is_welcome: bool) -> bool:
    if not is_welcome:
        _log.warning("a peer at %s was denied", visitor.address)
    return is_welcome
