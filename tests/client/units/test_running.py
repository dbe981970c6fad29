"""A daemon that runs already makes room for the manager's."""

import fcntl
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.units import running
from backtrail.units.answers import ServiceFailed
from support.live import places_in
from support.process import Process


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "daemon.lock"


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process that has nothing to do with Backtrail."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process
        process.kill()


def test_a_daemon_is_ended_as_by_hand_and_gone_afterwards(tmp_path: Path):
    """It saves what is pending; the manager's finds the lock free."""
    (tmp_path / "work").mkdir()
    with Process(tmp_path / "home", "--watch", str(tmp_path / "work")).wait_until_ready() as daemon:
        assert running.end(tmp_path / "home/data/daemon.lock") == daemon.pid
        assert daemon.status() == 0
        assert "stopping on SIGTERM" in daemon.said()


def test_the_number_that_a_dead_daemon_left_behind_is_nobody_s(
    lock: Path, bystander: subprocess.Popen[bytes]
):
    """Process numbers are used again: the one in the file may be the editor's by now."""
    assert running.end(lock) is None
    lock.write_text(f"{bystander.pid}\n")
    assert running.end(lock) is None
    assert bystander.poll() is None


def test_a_daemon_that_starts_just_now_is_not_mistaken_for_the_one_before(
    lock: Path, bystander: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
):
    """It holds the lock and has not written its own number yet."""
    lock.write_text(f"{bystander.pid}\n")
    with subprocess.Popen(["sleep", "60"]) as starting, open(lock, "r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        def write_number(seconds: float) -> None:
            held.truncate(0)
            os.pwrite(held.fileno(), b"%d\n" % starting.pid, 0)
            if starting.poll() is not None:
                fcntl.flock(held, fcntl.LOCK_UN)

        monkeypatch.setattr(running.time, "sleep", write_number)
        assert running.end(lock) == starting.pid
        assert starting.wait() == -signal.SIGTERM
    assert bystander.poll() is None


def test_a_daemon_that_does_not_end_is_named(lock: Path):
    """To go on would start a second one that ends at once, and leave the user puzzled."""
    with subprocess.Popen(["sh", "-c", "trap '' TERM; echo; sleep 60"], stdout=subprocess.PIPE) as stubborn:
        assert stubborn.stdout is not None
        stubborn.stdout.readline()
        lock.write_text(f"{stubborn.pid}\n")
        with open(lock) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            with pytest.raises(ServiceFailed, match=rf"process {stubborn.pid}\) did not end") as raised:
                running.end(lock, seconds=0.1)
        assert f"kill {stubborn.pid}" in raised.value.hint
        stubborn.kill()


def test_a_lock_that_names_no_process_is_reported(lock: Path, monkeypatch: pytest.MonkeyPatch):
    """Whoever holds it can't be ended from here."""
    monkeypatch.setattr(running, "LOOK_SECONDS", 0.001)
    lock.touch()
    with open(lock) as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(ServiceFailed, match="does not say in which process"):
            running.end(lock)


def test_nobody_else_starts_a_daemon_meanwhile(tmp_path: Path):
    """Between the end of one and the start of the other any command would start its own, and be in the way."""
    where = places_in(tmp_path)
    with running.alone(where):
        message = "Another command has been starting the Backtrail daemon"
        with pytest.raises(ServiceFailed, match=message), running.alone(where, seconds=0.1):
            raise AssertionError("two at once")
        with open(where.starting) as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with running.alone(where):
        pass
