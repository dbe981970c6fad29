"""Daemons that clients start for a test: found through their home, and ended with it."""

import contextlib
import fcntl
import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from backtrail.paths import Places, places
from support.watching import eventually


class Home:
    """A place for daemons, one at a time, however they were started."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.places: Places = places(path)

    def __fspath__(self) -> str:
        return str(self.path)

    def pid(self) -> int | None:
        """The process that holds the daemon's lock."""
        with contextlib.suppress(FileNotFoundError), open(self.places.lock, "rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(self.places.lock.read_bytes() or 0) or None
        return None

    def kill(self, number: signal.Signals = signal.SIGKILL) -> int:
        """Send a signal to the daemon; its process number."""
        pid = self.pid()
        assert pid is not None
        os.kill(pid, number)
        return pid

    def frozen(self) -> contextlib.AbstractContextManager[None]:
        """The daemon neither reads nor writes, but is there; it goes on afterwards, if it still lives."""
        pid = self.pid()
        assert pid is not None
        return frozen(pid)

    def end(self) -> None:
        """Kill every daemon of this home, also one that is just being started, and wait until they are gone."""
        for pid in self._daemons():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        # Of a process that ends, the kernel forgets what it is called before it lets go of its lock.
        eventually(lambda: not self._daemons() and self.pid() is None)

    def _daemons(self) -> list[int]:
        mark = b"BACKTRAIL_HOME=" + os.fsencode(self.path) + b"\0"
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [
            pid for pid in numbers if b"backtraild" in _said(pid, "cmdline") and mark in _said(pid, "environ")
        ]

    def withdraw(self, stop: Callable[[], object]) -> None:
        """Let the daemon be stopped, until no client finds it any more."""
        stop()
        eventually(lambda: not self.places.connection_file.exists())

    def starts(self) -> int:
        """How many daemons have ever been ready here."""
        return self.places.log_file.read_text().count('"ready: watching')


def _said(pid: int, what: str) -> bytes:
    """What the kernel tells about a process; nothing, if it is gone or only waits to be reaped."""
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process that does nothing, down to its last thread; the signal alone returns before that is so."""
    os.kill(pid, signal.SIGSTOP)
    tasks = Path(f"/proc/{pid}/task")
    eventually(lambda: all(") T" in _stat(task) for task in tasks.iterdir()))
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _stat(task: Path) -> str:
    try:
        return (task / "stat").read_text()
    except OSError:  # a thread that has ended meanwhile
        return ") T"


@contextlib.contextmanager
def home_in(folder: Path) -> Iterator[Home]:
    """A home for the time of a test; no daemon in it outlives that."""
    home = Home(folder / "home")
    try:
        yield home
    finally:
        home.end()


def at_once(*steps: Callable[[], Any]) -> list[Any]:
    """Let each step run in a thread of its own, all at the same moment; what they return or raise."""
    gate = threading.Barrier(len(steps))
    results: list[Any] = [None] * len(steps)

    def run(number: int) -> None:
        gate.wait()
        try:
            results[number] = steps[number]()
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(steps))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
