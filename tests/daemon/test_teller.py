"""Each checkpoint is told once and in its order, also where it can't be read for a while."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild import teller
from backtraild.health import Health
from backtraild.model import Event, WorkspaceConfig
from backtraild.registry import Registered
from backtraild.state import EventLog
from backtraild.store import indexes
from backtraild.teller import Teller
from support.descriptors import none_left
from support.faults import FaultyOs
from support.project import Project
from support.wounds import wound


class Scene:
    """A workspace with two checkpoints, and a teller that has told nothing yet."""

    def __init__(self, folder: Path) -> None:
        self.project = Project(folder)
        for number in (1, 2):
            self.project.write("file", f"content {number}\n" * 50)
            self.project.save()
        self.project.workspace.store._decoded.clear()  # as after a start: nothing of them is in memory
        self.events: list[Event] = []
        self.log = EventLog(str(folder / "events.db"), self.events.append)
        self.health = Health(lambda *_: None)
        entry = Registered("work", str(self.project.root), WorkspaceConfig())
        self.teller = Teller(entry, self.log, self.health, self.project.workspace.history)

    def told(self) -> list[int | None]:
        self.teller.tell_new()
        return [event.checkpoint for event in self.events]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    made = Scene(tmp_path)
    yield made
    made.log.close()
    made.project.workspace.close()


def test_a_checkpoint_that_can_not_be_read_now_is_told_later(scene: Scene):
    """No descriptor was left for a moment: whoever follows the events must not miss a checkpoint for that."""
    with none_left():
        assert scene.told() == []
        assert "Too many open files" in scene.health.reasons[0]
    assert scene.told() == [1, 2]
    assert scene.health.reasons == []


def test_a_damaged_checkpoint_is_passed_over(scene: Scene):
    """Nothing can ever be told of it, and those after it must not wait for that."""
    wound(scene.project, "commit", 1)
    scene.project.workspace.store.objects.refresh()
    assert scene.told() == [2]


def test_a_disk_that_fails_is_waited_for_and_not_for_ever(scene: Scene, monkeypatch: pytest.MonkeyPatch):
    """A cable that is loose comes back; a sector that is gone does not."""
    with monkeypatch.context() as patch:
        patch.setattr(indexes, "os", FaultyOs("pread", 1, errno.EIO, lasting=True))
        scene.project.workspace.store.objects.refresh()
        assert scene.told() == []
        patch.setattr(teller, "DISK_SECONDS", 0.0)
        assert scene.told() == []
        scene.project.save(allow_empty=True)
    assert scene.told() == [3]
