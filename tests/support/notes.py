"""What somebody was promised: noted line by line where no fault reaches, and read when all is over."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Files = dict[str, str]


class Notes:
    """Appended to by a program that may be killed at any moment: a line is there as a whole or not at all."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def note(self, what: str, **facts: Any) -> None:
        """Write a line down; it is in the kernel's hands when this returns."""
        line = json.dumps({"what": what, **facts}).encode() + b"\n"
        with self._lock, open(self._path, "ab", buffering=0) as file:
            os.write(file.fileno(), line)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        lines = self._path.read_bytes().splitlines(keepends=True) if self._path.exists() else []
        return (json.loads(line) for line in lines if line.endswith(b"\n"))


class Promised:
    """What the notes add up to. What was asked for and not acknowledged may have happened or not."""

    def __init__(self, notes: Notes) -> None:
        self.checkpoints: dict[int, tuple[str, Files | None]] = {}
        self.gone: set[int] = set()
        self.in_doubt: set[int] = set()  # those whose deletion was asked for
        self.few_are_kept = False  # all but the newest may be let go by retention
        self.pins: dict[int, bool] = {}
        self.files: dict[str, str | None] = {}
        self.messages: dict[str, int] = {}
        self.watched: dict[str, bool] = {}
        self.paused: bool | None = None
        self.events: dict[tuple[str, int], list[Any]] = {}
        self.acknowledged = 0
        for line in notes:
            self.acknowledged += not line["what"].startswith(("asked", "event", "writing", "keeping"))
            getattr(self, "_" + line.pop("what"))(**line)

    def _saved(self, number: int, id: str, files: Files | None) -> None:  # noqa: A002  # the name of the field
        self.checkpoints[number] = id, files

    def _writing(self, path: str) -> None:
        self.files.pop(path, None)

    def _asked_restore(self, target: dict[str, str | None]) -> None:
        self.files = {path: content for path, content in self.files.items() if target.get(path) == content}

    def _restored(self, files: dict[str, str | None]) -> None:
        self.files.update(files)

    def _asked_delete(self, numbers: list[int]) -> None:
        self.in_doubt |= set(numbers)

    def _keeping_few(self) -> None:
        self.few_are_kept = True

    def _deleted(self, numbers: list[int]) -> None:
        self.gone |= set(numbers)

    def _asked_pin(self, number: int) -> None:
        self.pins.pop(number, None)

    def _pinned(self, number: int, pinned: bool) -> None:
        self.pins[number] = pinned

    def _said(self, session: str, messages: int) -> None:
        self.messages[session] = messages

    def _asked_watch(self, root: str) -> None:
        self.watched.pop(root, None)

    def _watching(self, root: str, watched: bool) -> None:
        self.watched[root] = watched

    def _asked_pause(self) -> None:
        self.paused = None

    def _paused(self, paused: bool) -> None:
        self.paused = paused

    def _event(self, epoch: str, seq: int, told: list[Any]) -> None:
        self.events[epoch, seq] = told
