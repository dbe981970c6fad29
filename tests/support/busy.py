"""A client that does everything at random, and notes what it was promised."""

import random
import shutil
import threading
from pathlib import Path
from typing import Any

from backtrail import BacktrailError, CheckpointConfig, Client, NothingToDo
from backtraild.settle import MASS_CHANGE_FILES
from support.notes import Files, Notes

UNREADABLE = "it cannot be read and compared"
_PATHS = [
    f"{folder}{name}" for folder in ("", "src/", "src/deep/er/", "docs/") for name in ("a", "b.txt", "c")
]
# More, within a minute, would be a mass change: the daemon would pin the state before it, whatever was promised.
MOST_DELETIONS = MASS_CHANGE_FILES - len(_PATHS)


class Busy:
    """Works until it is killed, or until a call fails for good."""

    def __init__(self, home: Path, root: Path, notes: Notes, seed: int, *, prunes: bool) -> None:
        self._home, self._root, self._notes = home, root, notes
        self._source = random.Random(seed)
        self._prunes = prunes
        self._model: Files = {}  # what the workspace holds
        self._before: Files | None = None  # what it held before the last restore
        self._states: dict[int, Files] = {}
        self._messages: dict[str, int] = {}
        self._others = 0
        self._deletions = 0

    def work(self) -> None:
        """One random thing after the other. What is refused, because of the fault, is not promised."""
        with Client(home=self._home, autostart=False, timeout=20) as client:
            threading.Thread(target=self._follow, args=(client,), daemon=True).start()
            config = CheckpointConfig(max_checkpoints=6 if self._prunes else 10_000, quiet=0.05, patience=0.3)
            if self._prunes:
                self._notes.note("keeping_few")
            self._notes.note("asked_watch", root=str(self._root))
            self._workspace = client.watch(self._root, config)
            self._notes.note("watching", root=str(self._root), watched=True)
            things = [self._save] * 6 + [self._restore] * 3 + [self._talk] * 3
            things += [self._delete, self._pin, self._undo, self._pause, self._watch_another]
            things += [self._prune] * self._prunes
            while True:
                self._source.choice(things)()

    def _follow(self, client: Client) -> None:
        try:
            for event in client.events(since=0):
                told = [event.type, event.workspace, event.checkpoint]
                self._notes.note("event", epoch=event.epoch, seq=event.seq, told=told)
        except BacktrailError:
            return  # the daemon is gone

    def _write_some(self) -> None:
        for path in self._source.sample(_PATHS, self._source.randint(1, 4)):
            self._notes.note("writing", path=path)
            target = self._root / path
            if path in self._model and self._deletions < MOST_DELETIONS and self._source.random() < 0.3:
                target.unlink()
                del self._model[path]
                self._deletions += 1
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            content = f"{self._source.random()}\n" * self._source.choice([1, 10, 3000])
            target.write_text(content)
            self._model[path] = content

    def _save(self) -> None:
        self._write_some()
        self._noted(self._workspace.save(f"save {self._source.random()}"))

    def _noted(self, checkpoint: Any) -> None:
        self._states[checkpoint.number] = dict(self._model)
        self._notes.note("saved", number=checkpoint.number, id=checkpoint.id, files=self._model)

    def _talk(self) -> None:
        session = self._source.choice(["one", "two"])
        said = self._messages.get(session, 0) + self._source.randint(1, 5)
        self._write_some()
        messages = [{"role": "user", "content": f"message {number}"} for number in range(said)]
        checkpoint = self._workspace.save(session=session, conversation=messages, prompt="go on")
        self._noted(checkpoint)
        if not checkpoint.conversation_error:
            self._messages[session] = said
            self._notes.note("said", session=session, messages=said)

    def _restore(self) -> None:
        if self._states:
            self._go_back(*self._source.choice(list(self._states.items())))

    def _go_back(self, number: int, target: Files) -> None:
        self._notes.note("asked_restore", target=target)
        try:
            result = self._workspace.restore(number)
        except BacktrailError as error:
            if error.code != "unknown-checkpoint":
                raise
            del self._states[number]  # pruned by the daemon itself
            return
        self._arrived(result, target)

    def _arrived(self, result: Any, target: Files) -> None:
        if any(conflict.reason == UNREADABLE for conflict in result.conflicts):
            raise BacktrailError("The files could not be read: their disk is gone.")
        assert not result.conflicts, result.conflicts
        # Otherwise there is nothing to undo, and the one before it still is.
        if result.written or result.deleted:
            self._before = self._model
        self._model = dict(target)
        files = {path: target.get(path) for path in (*result.written, *result.deleted)}
        self._notes.note("restored", files=files)
        if result.result is not None:
            self._notes.note("saved", number=result.result.number, id=result.result.id, files=target)

    def _undo(self) -> None:
        if self._before is None:
            return
        target = self._before
        self._notes.note("asked_restore", target=target)
        try:
            result = self._workspace.undo()
        except NothingToDo:
            return
        self._arrived(result, target)

    def _delete(self) -> None:
        numbers = [number for number in self._states if self._source.random() < 0.3][:3]
        if numbers and not self._prunes:
            self._notes.note("asked_delete", numbers=numbers)
            self._workspace.delete(*numbers)
            self._notes.note("deleted", numbers=numbers)
            for number in numbers:
                del self._states[number]

    def _prune(self) -> None:
        dropped = [gone.number for gone in self._workspace.prune().dropped]
        self._notes.note("deleted", numbers=dropped)
        for number in dropped:
            self._states.pop(number, None)

    def _pin(self) -> None:
        if self._states and not self._prunes:
            number, pinned = self._source.choice(list(self._states)), self._source.random() < 0.7
            self._notes.note("asked_pin", number=number)
            (self._workspace.pin if pinned else self._workspace.unpin)(number)
            self._notes.note("pinned", number=number, pinned=pinned)

    def _pause(self) -> None:
        self._notes.note("asked_pause")
        paused = self._source.random() < 0.3
        (self._workspace.pause if paused else self._workspace.resume_watching)()
        self._notes.note("paused", paused=paused)

    def _watch_another(self) -> None:
        """A folder that comes and, perhaps, goes."""
        self._others += 1
        root = self._root.with_name(f"other{self._others}")
        shutil.copytree(self._root, root)
        self._notes.note("asked_watch", root=str(root))
        other = self._workspace.client.watch(root)
        self._notes.note("watching", root=str(root), watched=True)
        if self._source.random() < 0.5:
            self._notes.note("asked_watch", root=str(root))
            other.unwatch(purge=self._source.random() < 0.5)
            self._notes.note("watching", root=str(root), watched=False)
