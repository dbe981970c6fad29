"""A daemon as a process, seen from outside: what it answers, and what it takes of the machine."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.process import Process
from support.watching import eventually
from support.wire import Subscription, Wire, connection_of


class Outside:
    """A running daemon and its home."""

    def __init__(self, home: Path, process: Process) -> None:
        self.home, self.process = home, process
        connection = connection_of(home)
        self.requests, self.events = connection["requests"], connection["events"]

    def wire(self, **options: Any) -> Wire:
        return Wire(self.requests, **options)

    def subscription(self, topic: str = "") -> Subscription:
        return Subscription(self.events, topic)

    @property
    def pid(self) -> int:
        return self.process.pid

    def memory(self) -> int:
        """Bytes of it that are in memory now."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def descriptors(self) -> int:
        """How many files and sockets it has open."""
        return len(os.listdir(f"/proc/{self.pid}/fd"))


def start(home: Path, *arguments: str, configuration: str = "") -> Process:
    """A daemon, perhaps not ready yet."""
    if configuration:
        (home / "config").mkdir(parents=True, exist_ok=True)
        (home / "config" / "config.toml").write_text(configuration)
    return Process(home, *arguments)


def reached(home: Path, process: Process) -> Outside:
    """The daemon once it can be found."""
    file = home / "run" / "daemon.json"
    eventually(lambda: file.exists() or not process.is_running(), 60)
    assert process.is_running(), process.said()
    return Outside(home, process)


@contextlib.contextmanager
def outside(home: Path, *arguments: str, configuration: str = "") -> Iterator[Outside]:
    """A daemon for the time of a test."""
    with start(home, *arguments, configuration=configuration) as process:
        yield reached(home, process)
        if process.is_running():
            assert process.end() == 0


@contextlib.contextmanager
def short_home() -> Iterator[Path]:
    """A home whose sockets have short paths."""
    folder = Path(tempfile.mkdtemp(prefix="home-"))
    try:
        yield folder / "home"
    finally:
        shutil.rmtree(folder)
