"""What happens between a scout's look and the moment when the daemon knows of it."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("scouts are Linux's", allow_module_level=True)

from backtraild.ignore import FolderRules
from backtraild.scouts import kernel
from backtraild.scouts.gathering import Scouts
from backtraild.scouts.party import Party
from backtraild.watch import Dirt, inotify
from backtraild.watch.inotify import InotifyHub, InotifyWatcher

WORKSPACE = "work-0123456789"


class Early:
    """A folder that has its watch, and a daemon that has not heard of it yet."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "work"
        (self.root / "inside").mkdir(parents=True)
        queue = kernel.open_queue()
        self.numbers = {
            b"": kernel.watch(queue, os.fsencode(self.root)),
            b"inside": kernel.watch(queue, os.fsencode(self.root / "inside")),
        }
        told, self._telling = os.pipe()
        findings = os.memfd_create("findings")
        nobody = os.dup(findings)  # is held back
        self.scouts = Scouts(Party([], queue, findings, told, nobody, [(WORKSPACE, 1)]))
        self.hub = InotifyHub(str(folder / "cookies"), self.scouts)
        self.dirt = Dirt()

    def attach(self) -> InotifyWatcher:
        return self.hub.attach(self.dirt)

    def adopted(self) -> frozenset[bytes]:
        """Let the daemon hear of it; what is dirty then."""
        watcher = self.attach()
        watcher.adopt(self.numbers, lambda _: FolderRules.for_root())
        assert watcher.barrier(10)
        return self.dirt.take().paths

    def close(self) -> None:
        os.close(self._telling)
        self.scouts.call_back()
        self.hub.stop_reading()


@pytest.fixture
def early(tmp_path: Path) -> Iterator[Early]:
    found = Early(tmp_path)
    yield found
    found.close()


def test_they_are_told_as_soon_as_it_is_known_where_they_happened(early: Early) -> None:
    """Read out of the queue they are nowhere else."""
    (early.root / "new.txt").write_text("new")
    (early.root / "inside/deep.txt").write_text("new")
    assert early.hub.barrier(10)
    assert early.adopted() == {b"new.txt", b"inside/deep.txt"}


def test_a_folder_that_is_moved_away_or_deleted_tells_so_itself(early: Early) -> None:
    """Its parent may have been listed before, or be watched only now."""
    del early.numbers[b""]
    (early.root / "inside").rename(early.root / "elsewhere")
    assert early.hub.barrier(10)
    assert early.adopted() == {b"inside"}


def test_events_of_no_folder_are_forgotten_once_nobody_expects_scouts(early: Early) -> None:
    """Else they would gather for as long as the daemon lives."""
    (early.root / "new.txt").write_text("new")
    assert early.hub.barrier(10)
    assert early.hub._early
    with early.scouts.report(WORKSPACE, lambda: True) as report:
        assert report is None
    (early.root / "other.txt").write_text("new")
    assert early.hub.barrier(10)
    assert not early.hub._early


def test_a_report_counts_no_more_when_events_were_lost(early: Early, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a workspace that is not even open yet nobody else would know."""
    monkeypatch.setattr(inotify, "MOST_EARLY", 3)
    assert early.scouts.are_expected()
    for number in range(3):
        (early.root / f"{number}.txt").write_text("new")
    assert early.hub.barrier(10)
    assert not early.scouts.are_expected()
    with early.scouts.report(WORKSPACE, lambda: False) as report:
        assert report is None
