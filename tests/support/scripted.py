"""A fixed piece of work with a service in this process: every sync of it can be made the last."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from backtrail.paths import places
from backtraild.conversing import Talk
from backtraild.model import Checkpoint, Intent
from backtraild.restore.calls import Calls
from backtraild.service import Service
from backtraild.transcripts import Messages
from support.notes import Files, Notes


class Scripted:
    """A service on one folder, and what it promised."""

    def __init__(self, home: Path, root: Path, notes: Notes) -> None:
        self._root, self._notes = root, notes
        places(home).make()
        self._service = Service(places(home), self._told)
        self._model: Files = {}

    def work(self) -> None:
        """Everything once, in this order."""
        self._service.start()
        self._write(a="1", b="2", c="3")
        self._id = self._watch(self._root)
        first = self._save()
        self._write(a="other", d="4")
        second = self._save()
        self._say(3)
        self._go_back(first)
        self._go_back(second)
        self._pin(second, True)
        self._delete(first)
        self._write(b="more")
        self._say(5)
        newest = self._save()
        self._delete(newest)
        self._pin(second, False)
        self._save()
        self._let_go(self._watch_another())
        self._service.stop()

    def _told(self, event: Any) -> None:
        told = [event.type, event.workspace, event.checkpoint]
        self._notes.note("event", epoch=event.epoch, seq=event.seq, told=told)

    def _write(self, **files: str) -> None:
        for name, content in files.items():
            self._notes.note("writing", path=name)
            (self._root / name).write_text(content)
            self._model[name] = content

    def _watch(self, root: Path) -> str:
        self._notes.note("asked_watch", root=str(root))
        workspace = self._service.watch(str(root), {"auto_checkpoint": False}).id
        self._notes.note("watching", root=str(root), watched=True)
        return workspace

    def _watch_another(self) -> Path:
        other = self._root.with_name("other")
        other.mkdir()
        (other / "file").write_text("content")
        self._watch(other)
        return other

    def _let_go(self, root: Path) -> None:
        self._notes.note("asked_watch", root=str(root))
        self._service.unwatch(self._service.find(str(root)).id, purge=True)
        self._notes.note("watching", root=str(root), watched=False)

    def _save(self) -> tuple[int, Files]:
        return self._noted(self._service.save(self._id, Intent(message="save"), allow_empty=True))

    def _noted(self, made: Checkpoint) -> tuple[int, Files]:
        self._notes.note("saved", number=made.number, id=made.id, files=self._model)
        return made.number, dict(self._model)

    def _say(self, count: int) -> None:
        messages = Messages([{"role": "user", "content": f"message {number}"} for number in range(count)])
        self._noted(self._service.save(self._id, Intent(session="s"), talk=Talk(messages), allow_empty=True))
        self._notes.note("said", session="s", messages=count)

    def _go_back(self, to: tuple[int, Files]) -> None:
        number, target = to
        self._notes.note("asked_restore", target=target)
        result = self._service.restore(self._id, str(number))
        self._model = dict(target)
        done = [os.fsdecode(path) for path in (*result.written, *result.deleted)]
        self._notes.note("restored", files={path: target.get(path) for path in done})
        if result.result is not None:
            self._noted(result.result)

    def _pin(self, which: tuple[int, Files], pinned: bool) -> None:
        self._notes.note("asked_pin", number=which[0])
        (self._service.pin if pinned else self._service.unpin)(self._id, str(which[0]))
        self._notes.note("pinned", number=which[0], pinned=pinned)

    def _delete(self, which: tuple[int, Files]) -> None:
        self._notes.note("asked_delete", numbers=[which[0]])
        self._service.delete(self._id, [str(which[0])])
        self._notes.note("deleted", numbers=[which[0]])


def at_sync(nth: int, act: Callable[[], None], *, after: bool) -> None:
    """From now on, the n-th time that this process syncs something is its last.

    SQLite's own syncs are not counted: what they make durable can be made again.
    """
    left = nth

    def counted(real: Callable[[int], None]) -> Callable[[int], None]:
        def sync(descriptor: int) -> None:
            nonlocal left
            left -= 1
            if left == 0 and not after:
                act()
            real(descriptor)
            if left == 0:
                act()

        return sync

    os.fsync = counted(os.fsync)
    Calls.fsync = staticmethod(counted(Calls.fsync))  # type: ignore[method-assign]
    Calls.syncfs = staticmethod(counted(Calls.syncfs))  # type: ignore[method-assign]
