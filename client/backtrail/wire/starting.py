"""Starting the daemon: once, however many clients find none at the same moment."""

import contextlib
import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

from backtrail import protocol
from backtrail.errors import DaemonUnreachable, ProtocolMismatch
from backtrail.locks import is_held, try_lock
from backtrail.paths import STARTED_BY_CLIENT, Places
from backtrail.protocol import ConnectionFile
from backtrail.wire.connection import connect
from backtrail.wire.deadline import Deadline
from backtrail.wire.discovery import read_connection
from backtrail.wire.exchange import Lost, Silent
from backtrail.wire.listening import is_listening

START_SECONDS = 15.0
_LOOK_SECONDS = 0.01
_LAST_WORDS = 4000
_SPEAKER = "backtraild: "

# The threads of one process wait for each other here, without asking the kernel again and again.
_threads = threading.Lock()


def _forget_threads() -> None:
    """A forked child has none of the threads that may have held the lock."""
    global _threads
    _threads = threading.Lock()


os.register_at_fork(after_in_child=_forget_threads)


def start(places: Places, home: str | None, deadline: Deadline) -> ConnectionFile:
    """A daemon that answers: one that is there by now, or else a new one."""
    limit = deadline.at_most(START_SECONDS)
    places.make()
    with _alone(places, limit):
        found = _await_predecessor(places, limit)
        return found or _await_answer(places, _Started(places, home), limit)


def look(places: Places) -> ConnectionFile | None:
    """The daemon that listens now, if one does."""
    found = read_connection(places.connection_file)
    return found if found is not None and is_listening(found.requests) else None


@contextlib.contextmanager
def _alone(places: Places, limit: Deadline) -> Iterator[None]:
    left = limit.left()
    if not _threads.acquire(timeout=-1 if left is None else left):
        raise _too_slow(places, limit)
    try:
        descriptor = os.open(places.starting, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            while not try_lock(descriptor):
                _pause(places, limit)
            yield
        finally:
            # Not by closing alone: a child that another thread forked meanwhile has the descriptor too.
            fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)
    finally:
        _threads.release()


def _await_predecessor(places: Places, limit: Deadline) -> ConnectionFile | None:
    """The daemon that is there, or None once an earlier one that is stopping has let go of everything."""
    while True:
        stale: ProtocolMismatch | None = None
        try:
            if (found := look(places)) is not None:
                return found
        except ProtocolMismatch as error:
            stale = error
        if not is_held(places.lock):
            return None
        if stale is not None:
            raise stale
        _pause(places, limit)


def _pause(places: Places, limit: Deadline) -> None:
    if limit.passed():
        raise _too_slow(places, limit)
    time.sleep(_LOOK_SECONDS)


class _Started:
    """The process of a daemon, in a session of its own: a terminal's Ctrl-C does not reach it."""

    def __init__(self, places: Places, home: str | None) -> None:
        self._places = places
        with open(places.start_log, "wb", opener=_private) as words:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "backtraild"],
                env={**os.environ, STARTED_BY_CLIENT: "1", **({"BACKTRAIL_HOME": home} if home else {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=words,
                cwd="/",
                start_new_session=True,
            )
        self._ended = threading.Event()
        threading.Thread(target=self._reap, name="backtrail daemon", daemon=True).start()

    def has_ended(self, seconds: float) -> bool:
        """Whether it has ended; waits a little for that."""
        return self._ended.wait(seconds)

    def failure(self) -> DaemonUnreachable:
        """Why it ended, in its own words."""
        words = self._places.start_log.read_bytes()[-_LAST_WORDS:].decode(errors="replace").strip()
        # A sentence with its hint under it; or, where Python itself gave up, a traceback that ends in the reason.
        lines = words.splitlines() or [f"It ended with status {self._process.returncode}."]
        sentence = next((line for line in lines if line.startswith(_SPEAKER)), None)
        if sentence is None:
            return _failed(lines[-1], f"{self._places.start_log} and {self._places.log_file} may tell more.")
        return _failed(sentence.removeprefix(_SPEAKER), words.partition(sentence)[2].strip())

    def _reap(self) -> None:
        """A daemon that ends before its client must not stay as a zombie."""
        self._process.wait()
        self._ended.set()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _await_answer(places: Places, started: _Started, limit: Deadline) -> ConnectionFile:
    while True:
        ended = started.has_ended(_LOOK_SECONDS)
        with contextlib.suppress(ProtocolMismatch):  # left behind by an older daemon, to be replaced
            found = look(places)
            if found is not None and _answers(found, limit):
                return found
        # One that ended because another was quicker is no failure: the other will answer.
        if ended and not is_held(places.lock):
            raise started.failure()
        if limit.passed():
            raise _too_slow(places, limit)


def _answers(where: ConnectionFile, limit: Deadline) -> bool:
    connection, request = connect(where), os.urandom(16).hex()
    try:
        connection.ask(request, protocol.encode_request(request, "ping", protocol.Ping()), limit)
    except (Lost, Silent):
        return False
    finally:
        connection.close()
    return True


def _failed(reason: str, hint: str) -> DaemonUnreachable:
    return DaemonUnreachable(f"The daemon could not be started. {reason}", hint)


def _too_slow(places: Places, limit: Deadline) -> DaemonUnreachable:
    return DaemonUnreachable(
        f"The daemon did not start, or an earlier one did not end, within {limit.seconds or 0:.3g} s.",
        f"{places.log_file} tells what it is doing; `backtrail doctor` looks for the usual causes.",
    )
