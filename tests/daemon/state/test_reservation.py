"""Numbers of events after a power cut: none is given out twice, and none is left out for nothing."""

import os
import shutil
from pathlib import Path

import pytest

from backtraild.state import EventLog, reservation


@pytest.fixture
def boot_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the machine says about its last start."""
    file = tmp_path / "boot_id"
    file.write_text("first\n")
    monkeypatch.setattr(reservation, "_BOOT_ID", str(file))
    return file


def _log(folder: Path) -> EventLog:
    folder.mkdir(exist_ok=True)
    return EventLog(str(folder / "events.db"), lambda _: None)


def _died(folder: Path, left: Path) -> Path:
    """The files as a process leaves them that did not come to closing them."""
    shutil.copytree(folder, left)
    return left


def test_a_number_that_a_power_cut_took_is_not_given_out_again(tmp_path: Path, boot_id: Path):
    """A follower that has seen 3 asks for what comes after 3: another event 3 would be hidden from it."""
    log = _log(tmp_path / "log")
    told = [log.append("error", "", "").seq for _ in range(3)][-1]
    left = _died(tmp_path / "log", tmp_path / "left")
    os.unlink(left / "events.db-wal")  # never synced
    boot_id.write_text("second\n")
    after = _log(left)
    assert after.append("error", "", "").seq > told
    log.close()
    after.close()


def test_a_cut_that_took_only_the_last_events_is_noticed_as_well(tmp_path: Path, boot_id: Path):
    """Some of the log had reached the disk, so it is not empty."""
    log = _log(tmp_path / "log")
    log.append("error", "", "")
    log.close()
    left = _died(tmp_path / "log", tmp_path / "left")
    log = _log(tmp_path / "log")
    told = log.append("error", "", "").seq
    shutil.copy(tmp_path / "log" / "events.db.reserved", left)
    boot_id.write_text("second\n")
    after = _log(left)
    assert after.append("error", "", "").seq > told
    log.close()
    after.close()


def test_a_killed_daemon_leaves_no_number_out(tmp_path: Path, boot_id: Path):
    """What it wrote is there as long as the machine runs."""
    log = _log(tmp_path / "log")
    log.append("error", "", "")
    after = _log(_died(tmp_path / "log", tmp_path / "left"))
    assert after.append("error", "", "").seq == 2
    log.close()
    after.close()


def test_a_daemon_that_ended_leaves_no_number_out_over_a_restart_of_the_machine(
    tmp_path: Path, boot_id: Path
):
    """Numbers without holes are what tells a follower that it has missed nothing."""
    log = _log(tmp_path / "log")
    log.append("error", "", "")
    log.close()
    boot_id.write_text("second\n")
    log = _log(tmp_path / "log")
    assert log.append("error", "", "").seq == 2
    log.close()


def test_where_the_machine_does_not_tell_its_starts_every_end_counts_as_a_cut(tmp_path: Path, boot_id: Path):
    """Better a hole that means nothing than a number that comes twice."""
    boot_id.unlink()
    log = _log(tmp_path / "log")
    log.append("error", "", "")
    after = _log(_died(tmp_path / "log", tmp_path / "left"))
    assert after.append("error", "", "").seq > 1000
    log.close()
    after.close()
