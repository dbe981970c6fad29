"""The store can't be written: the state says so, nothing is lost, and it goes on by itself."""

import errno
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import BacktrailError, StoreFailed, UnknownCheckpoint
from backtraild import durable, keeper, worker
from backtraild.state import EventLog
from support.look import Os
from support.serving import Desk, Site, desk, impatient
from support.watching import eventually


class FullDisk:
    """Every write of the store fails as long as `full` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        self.attempts = 0
        monkeypatch.setattr(durable, "os", Os(write=self._write))
        from backtraild.store import pack

        if hasattr(pack, "os"):
            monkeypatch.setattr(pack, "os", Os(write=self._write))

    def _write(self, descriptor: int, content: bytes) -> int:
        if self.full:
            self.attempts += 1
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(descriptor, content)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    impatient(monkeypatch)
    return FullDisk(monkeypatch)


@pytest.fixture
def site(tmp_path: Path, disk: FullDisk) -> Iterator[Site]:
    with desk(tmp_path) as at:
        yield at.watch()


def test_a_full_disk_degrades_and_what_changed_is_saved_when_there_is_room(site: Site, disk: FullDisk):
    """Nobody writes the file again just because the disk was full the first time."""
    disk.full = True
    site.write("a", "written on a full disk")
    eventually(lambda: site.state == "degraded")
    assert "No space left on device" in site.reasons()
    assert site.desk.service.status(site.id).pending
    disk.full = False
    site.wait_for("a", b"written on a full disk")
    eventually(lambda: site.state == "watching")
    eventually(lambda: site.desk.events("recovered"))
    assert [event.type for event in site.desk.told if event.type in ("degraded", "recovered")] == [
        "degraded",
        "recovered",
    ]


def test_a_failed_save_is_an_error_and_its_changes_are_in_the_next_one(site: Site, disk: FullDisk):
    """The oldest complaint: a save that failed, said nothing, and lost the work."""
    site.desk.service.pause(site.id, paused=True)
    site.write("a", "1")
    disk.full = True
    with pytest.raises(StoreFailed, match="No space left"):
        site.desk.service.save(site.id)
    disk.full = False
    saved = site.desk.service.save(site.id)
    assert [change.path for change in saved.files_changed] == [b"a"]


def test_a_restore_that_fails_before_it_begins_loses_no_hint(site: Site):
    """A slip of the pen in a checkpoint's name must not cost the changes that were waiting."""
    site.desk.service.pause(site.id, paused=True)
    site.write("a", "1")
    with pytest.raises(UnknownCheckpoint):
        site.desk.service.restore(site.id, "4711")
    with pytest.raises(BacktrailError):
        site.desk.service.undo(site.id)
    assert site.desk.service.status(site.id).pending
    site.desk.service.pause(site.id, paused=False)
    site.wait_for("a", b"1")


def test_while_the_disk_is_full_the_worker_rests_between_its_attempts(
    site: Site, disk: FullDisk, monkeypatch: pytest.MonkeyPatch
):
    """A full disk must not also be a hot processor."""
    looks: list[float] = []
    save = keeper.Keeper.save_settled

    def counted(self, *arguments):
        looks.append(time.monotonic())
        return save(self, *arguments)

    monkeypatch.setattr(keeper.Keeper, "save_settled", counted)
    monkeypatch.setattr(worker, "RETRY_SECONDS", 0.3)
    disk.full = True
    for number in range(200):
        site.write(f"file{number % 10}", f"{number}")
        time.sleep(0.004)
    eventually(lambda: len(looks) >= 3)
    disk.full = False
    site.wait_for("file9", b"199")
    pauses = [after - before for before, after in itertools.pairwise(looks)]
    assert min(pauses[:2]) >= 0.28, pauses


def test_an_unexpected_error_is_told_and_survived(
    site: Site, disk: FullDisk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """A worker that ended because of a bug would be a workspace that is watched by nobody."""
    save = keeper.Keeper.save_settled

    def broken(self, *arguments):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr(keeper.Keeper, "save_settled", broken)
    site.write("a", "1")
    eventually(lambda: site.state == "degraded")
    assert "ZeroDivisionError" in site.reasons()
    assert "Traceback" in caplog.text
    monkeypatch.setattr(keeper.Keeper, "save_settled", save)
    site.wait_for("a", b"1")
    eventually(lambda: site.state == "watching")


def test_a_checkpoint_whose_event_could_not_be_written_gets_it_later_and_in_order(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    """The event log is on the same full disk; subscribers shall miss nothing all the same."""
    insert = EventLog._insert

    def refusing(self, event):
        raise StoreFailed("The log of events can't be written: disk full.")

    monkeypatch.setattr(EventLog, "_insert", refusing)
    site.write("a", "1")
    first = site.desk.service.save(site.id)
    site.write("a", "2")
    second = site.desk.service.save(site.id)
    eventually(lambda: site.state == "degraded")
    monkeypatch.setattr(EventLog, "_insert", insert)
    eventually(lambda: site.state == "watching")
    eventually(lambda: len(told_checkpoints(site.desk)) == 3)
    assert told_checkpoints(site.desk) == [1, first.number, second.number]


def told_checkpoints(at: Desk) -> list[int | None]:
    return [event.checkpoint for event in at.events("checkpoint_created")]


def test_a_disk_that_is_full_at_the_start_is_no_reason_to_give_up(
    tmp_path: Path, disk: FullDisk, monkeypatch: pytest.MonkeyPatch
):
    """The machine starts with a full disk; the user makes room and expects to be protected."""
    with desk(tmp_path) as at:
        site = at.watch()
        at.service.stop()
        site.write("a", "changed while nobody watched")
        disk.full = True
        at.restart()
        assert site.state == "degraded"
        disk.full = False
        made = site.wait_for("a", b"changed while nobody watched")
        assert made.message == "a added (while Backtrail was not watching)"
        eventually(lambda: site.state == "watching")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_store_that_may_not_be_written_degrades_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The same with the kernel's own refusal."""
    impatient(monkeypatch)
    with desk(tmp_path) as at:
        site = at.watch()
        packs = site.git_dir / "objects" / "pack"
        packs.chmod(0o500)
        site.write("a", "1")
        eventually(lambda: site.state == "degraded")
        packs.chmod(0o700)
        site.wait_for("a", b"1")
        eventually(lambda: site.state == "watching")
