"""A service at work on real folders, with real threads, in the test's own process or as a daemon of its own."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from backtrail.paths import Places
from backtraild.model import Checkpoint, Event, Intent
from backtraild.service import Service
from backtraild.watch.inotify import InotifyHub
from support.disk import git_tree_id
from support.watching import eventually


def places_in(folder: Path) -> Places:
    """Everything of a daemon below one folder, as with BACKTRAIL_HOME."""
    home = folder / "home"
    return Places(home / "config", home / "data", home / "run")


def configure(folder: Path, **settings: Any) -> None:
    """Write the configuration file."""
    file = places_in(folder).config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        f"{name} = {str(value) if not isinstance(value, str) else repr(value)}"
        for name, value in settings.items()
    ]
    file.write_text("\n".join(lines) + "\n")


class Live:
    """A service on one folder, which can be stopped and started again."""

    def __init__(self, folder: Path, root: Path | None = None, **settings: Any) -> None:
        self.folder = folder
        self.root = root or folder / "work"
        self.root.mkdir(exist_ok=True)
        configure(folder, **{"quiet": 0.02, "patience": 1.0, **settings})
        self.told: list[Event] = []
        self._start()
        self.id = self.service.watch(str(self.root)).id
        assert self.service.wait_until_caught_up(60)

    def _start(self) -> None:
        self.service = Service(places_in(self.folder), self.told.append)
        self.service.start()

    def restart(self) -> None:
        """Stop and start."""
        self.service.stop()
        self._start()
        assert self.service.wait_until_caught_up(60)

    @property
    def hub(self) -> InotifyHub:
        """The descriptor and its reader."""
        found = self.service._hub._inotify
        assert found is not None
        return found

    def save(self) -> Checkpoint:
        """A checkpoint with every write that finished before."""
        return self.service.ask(self.id, lambda keeper: keeper.save(Intent(message="save"), allow_empty=True))

    def newest(self) -> Checkpoint:
        """The newest checkpoint, whoever made it."""
        return self.service.ask(self.id, lambda keeper: keeper.workspace.history.find("@"))

    def events(self, kind: str) -> list[Mapping[str, Any]]:
        """What was told of one kind."""
        return [event.data for event in list(self.told) if event.type == kind]

    def disk(self) -> str:
        """The tree that git computes for what is on the disk, nothing ignored."""
        return git_tree_id(self.root, self.folder / "peer.git")

    def wait_for_disk(self, seconds: float = 30.0) -> None:
        """Until an automatic checkpoint holds what is on the disk now."""
        wanted = self.disk()
        eventually(lambda: self.newest().tree == wanted, seconds, "no checkpoint equals the disk")

    @property
    def state(self) -> str:
        """How the workspace is doing."""
        return self.service.worker(self.id).health.state

    @property
    def reasons(self) -> str:
        """What is wrong with it."""
        return " ".join(self.service.worker(self.id).health.reasons)


@contextlib.contextmanager
def live(folder: Path, root: Path | None = None, **settings: Any) -> Iterator[Live]:
    """A service on a folder for the time of a test; no thread of it is left afterwards."""
    before = set(threading.enumerate())
    found = Live(folder, root, **settings)
    try:
        yield found
    finally:
        found.service.stop()
    assert not [thread for thread in threading.enumerate() if thread not in before and not thread.daemon]


class Daemon:
    """`python -m backtraild` as a process, to be killed."""

    def __init__(self, folder: Path, *roots: Path) -> None:
        self._log = folder / "daemon.txt"
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "backtraild", *(f"--watch={root}" for root in roots)],
                env={**os.environ, "BACKTRAIL_HOME": str(folder / "home")},
                stdout=log,
                stderr=log,
            )
        self.process = self._process.pid
        ready = f"ready: watching {len(roots)} folders, process {self.process}\n"
        eventually(lambda: ready in self.log() or self._process.poll() is not None, 60, "never ready")
        assert self._process.poll() is None, self.log()

    def log(self) -> str:
        """What all daemons of this folder have said."""
        return self._log.read_text()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """In this block it does not run, as on a machine that is too busy for it."""
        self._process.send_signal(signal.SIGSTOP)
        yield
        self._process.send_signal(signal.SIGCONT)

    def end(self, number: signal.Signals) -> int:
        """End it with a signal; its exit status."""
        self._process.send_signal(number)
        return self._process.wait(60)
