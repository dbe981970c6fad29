"""The deputy seen from the daemon: called in when a look turns out to be long, asked, sent away."""

import contextlib
import fcntl
import os
import select
import socket
import subprocess
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import msgspec

from backtraild import children
from backtraild.deputy.exchange import receive_answer, send_order
from backtraild.scan import Answer

# So many files are read in less time than a process takes to start and to be of use.
LONG_FROM = 3_000
MOST_PENDING = 8  # batches, of a megabyte each at most: the deputy is never idle, and memory stays small
PIPE_BYTES = 1024 * 1024
# Whoever does not answer for so long will not; a disk that takes longer is waited for by the look itself.
PATIENCE_SECONDS = 60.0


class Assistance:
    """A deputy for one look, if it is worth one; used in a `with`, which ends it."""

    def __init__(self) -> None:
        self._is_wanted = True
        self._process: _Process | None = None
        self._offered = 0
        self._pending = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._send_away()

    def has_time(self, files: int) -> bool:
        """May so many files be ordered? Not while all that there are may be few, nor while enough are under way."""
        self._offered += files
        return self._offered >= LONG_FROM and self._pending < MOST_PENDING and self._is_wanted

    def order(self, folder: int, names: Sequence[bytes]) -> bool:
        """Have files of an open folder read; False if nobody will."""
        try:
            self._process = self._process or _called_in()
        except OSError:
            self._send_away()
            return False
        try:
            send_order(self._process.orders, folder, names)
        except BlockingIOError:
            return False
        except OSError:
            self._send_away()
            return False
        self._pending += 1
        return True

    def answer(self, *, wait: bool) -> Answer | None:
        """What came of the oldest order; None where that is not known yet, or never will be."""
        if self._process is None:
            return None
        try:
            if self._process.has_answered(PATIENCE_SECONDS if wait else 0):
                self._pending -= 1
                return receive_answer(self._process.answers)
            is_lost = wait
        except (EOFError, OSError, msgspec.DecodeError):
            is_lost = True
        if is_lost:
            self._send_away()
        return None

    def _send_away(self) -> None:
        """End the process; there is no other one during this look."""
        self._is_wanted = False
        if self._process is not None:
            self._process.end()
            self._process = None


class _Process:
    """The process and the two ways between it and us. An OSError where it can't be started."""

    def __init__(self) -> None:
        self.orders, orders = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.answers, answers = os.pipe()
        try:
            self._process = subprocess.Popen(
                children.command("backtraild.deputy"),
                cwd="/",
                env=children.environment(),
                stdin=orders.fileno(),
                stdout=answers,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # a Ctrl-C at the daemon's terminal is the daemon's to handle
            )
        except BaseException:
            self.orders.close()
            os.close(self.answers)
            raise
        finally:
            orders.close()
            os.close(answers)
        _widen(self.answers)
        self._poll = select.poll()
        self._poll.register(self.answers, select.POLLIN)

    def has_answered(self, seconds: float) -> bool:
        """Is there an answer, or will there never be one?"""
        return bool(self._poll.poll(1000 * seconds))

    def end(self) -> None:
        """End it and see it gone; it has nothing that is not here."""
        self.orders.close()
        self._process.kill()
        self._process.wait()
        os.close(self.answers)


def _called_in() -> _Process:
    if _processors() == 1:
        raise ProcessLookupError("Two would only take turns.")
    return _Process()


def _widen(pipe: int) -> None:
    """Let many answers wait in the pipe while the look reads by itself; where that is not allowed, fewer do."""
    with contextlib.suppress(AttributeError, OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


def _processors() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
