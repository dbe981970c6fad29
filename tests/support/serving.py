"""A whole service in the test's own process: quick to settle, quick to retry, many workspaces."""

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backtraild import worker
from backtraild.model import Checkpoint, Event, Progress
from backtraild.service import Service
from support.live import places_in
from support.project import Files, files_of
from support.watching import eventually

QUIET, PATIENCE = 0.05, 1.0
RETRY = 0.1


def configure(folder: Path, settings: dict[str, Any]) -> None:
    """Write the configuration file; the values of TOML used here are written as JSON writes them."""
    file = places_in(folder).config_file
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))


class Desk:
    """A service and what it tells; started again as often as wanted."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.places = places_in(folder)
        configure(folder, {"quiet": QUIET, "patience": PATIENCE, **settings})
        self._told: list[Event] = []
        self.progress: list[Progress] = []
        self.start()

    def start(self, **options: Any) -> None:
        """As after the machine was started, without waiting for anything; the service before it was stopped."""
        self.service = Service(self.places, self._hear, self.progress.append, **options)
        self.heard = self.service.log.newest
        self.service.start()

    def _hear(self, event: Event) -> None:
        self._told.append(event)
        self.heard = event.seq

    @property
    def told(self) -> list[Event]:
        """What was told so far, up to the last event of the log: those who listen hear of it a little later."""
        eventually(lambda: self.heard == self.service.log.newest)
        return self._told

    def restart(self, **settings: Any) -> None:
        """As after the machine was started again."""
        self.service.stop()
        if settings:
            configure(self.folder, {"quiet": QUIET, "patience": PATIENCE, **settings})
        self.start()
        assert self.service.wait_until_caught_up(30)

    def watch(self, name: str = "work", **options: Any) -> "Site":
        """Watch a folder, made where it is not there."""
        root = self.folder / name
        root.mkdir(parents=True, exist_ok=True)
        return Site(self, root, self.service.watch(str(root), **options).id)

    def events(self, kind: str) -> list[Event]:
        """What was told of one kind, oldest first."""
        return [event for event in list(self.told) if event.type == kind]


class Site:
    """One watched folder of a service."""

    def __init__(self, desk: Desk, root: Path, workspace: str) -> None:
        self.desk, self.root, self.id = desk, root, workspace
        self.store = desk.service.store(workspace)
        self.git_dir = self.store / "repo.git"

    def write(self, path: str, content: bytes | str = b"content\n") -> Path:
        """A file, with the folders it needs."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def newest(self) -> Checkpoint:
        """The newest checkpoint."""
        return self.desk.service.get(self.id, "@")

    def checkpoints(self) -> list[Checkpoint]:
        """All of them, oldest first."""
        return list(reversed(self.desk.service.list(self.id).checkpoints))

    def captured(self, name: str = "@") -> Files:
        """What a checkpoint holds, told by git."""
        return files_of(self.git_dir, self.desk.service.get(self.id, name).tree)

    def content(self, path: str, name: str = "@") -> bytes | None:
        """What a checkpoint holds at a path; None if nothing."""
        return self.captured(name).get(os.fsencode(path), ("", None))[1]

    def wait_for(self, path: str, content: bytes | None, seconds: float = 15.0) -> Checkpoint:
        """Until the newest checkpoint holds this at a path."""
        eventually(lambda: self.content(path) == content, seconds, f"{path} is never {content!r:.60}")
        return self.newest()

    def wait_until_settled(self) -> None:
        """Until nothing waits to be looked at and the worker has gone through its work."""
        eventually(lambda: self.desk.service.status(self.id).pending == 0)
        self.newest()

    @property
    def state(self) -> str:
        """How it is doing."""
        return self.desk.service.status(self.id).state

    def reasons(self) -> str:
        """What is wrong."""
        return " ".join(self.desk.service.status(self.id).reasons)


@contextlib.contextmanager
def desk(folder: Path, **settings: Any) -> Iterator[Desk]:
    """A service for the time of a test."""
    found = Desk(folder, **settings)
    try:
        yield found
    finally:
        found.service.stop()


def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Retry soon, so that tests of recovery do not last."""
    monkeypatch.setattr(worker, "RETRY_SECONDS", RETRY)
