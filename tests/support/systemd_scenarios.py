"""The daemon under a real `systemd --user`; run by `systemd.run_apart`."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from backtrail import units
from backtrail.client import Client
from backtrail.paths import places
from backtrail.units import ServiceFailed, ServiceStatus, text
from support.process import Process
from support.project import files_of
from support.systemd import booted, processes, shown, systemctl
from support.watching import eventually

UNIT = text.SYSTEMD_UNIT
# A person waits half a minute until a hung daemon is restarted, a test does not.
_QUICK = "[Service]\nWatchdogSec=2\nRestartSec=100ms\n"
_TURN = 2_000_000
_RESTRICTED = Path(__file__).with_name("restricted.py")


@dataclass(frozen=True)
class Ground:
    """A user with a folder to watch, and nothing that settles by itself."""

    home: Path
    root: Path
    file: Path

    def captured(self) -> dict[bytes, tuple[str, bytes]]:
        """What the newest checkpoint holds, told by git."""
        (store,) = (places().data / "workspaces").iterdir()
        refs = store / "repo.git" / "refs" / "checkpoints"
        newest = max(int(name) for name in os.listdir(refs) if name.isdecimal())
        return files_of(store / "repo.git", f"refs/checkpoints/{newest}^{{tree}}")


@contextlib.contextmanager
def ground(folder: Path) -> Iterator[Ground]:
    """A machine that has just been started. Names that systemd has a meaning for must not matter."""
    home, root, units_folder = folder / "ho me %h $x", folder / "work", folder / ".config/systemd/user"
    os.environ["BACKTRAIL_HOME"] = str(home)
    root.mkdir()
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text("quiet = 600\npatience = 600\n")
    (units_folder / f"{UNIT}.d").mkdir(parents=True)
    (units_folder / f"{UNIT}.d" / "quick.conf").write_text(_QUICK)
    with booted(folder):
        yield Ground(home, root, units_folder / UNIT)


def from_install_to_uninstall(folder: Path) -> None:
    """A command has started a daemon; its user makes it a service, works, and changes their mind."""
    with ground(folder) as at:
        with Process(at.home, "--watch", str(at.root)).wait_until_ready() as outside:
            (at.root / "before").write_text("pending when the first daemon ended")
            done = units.install()
            assert done.ended == outside.pid
            assert outside.status() == 0
        assert at.captured() == {b"before": ("file", b"pending when the first daemon ended")}
        status = done.status
        assert (status.file, status.installed, status.enabled) == (at.file, True, True), status
        assert (status.state, status.active) == ("active", True)
        assert status.since is not None
        assert abs(time.time() - status.since.timestamp()) < 30, status
        _check_answering(status)
        _check_protected(status)

        (at.root / "after").write_text("pending when it was stopped")
        assert systemctl("stop", UNIT) == 0
        assert shown(UNIT, "Result", "ExecMainStatus") == ["success", "0"]
        assert at.captured()[b"after"] == ("file", b"pending when it was stopped")
        assert units.status().state == "inactive"
        assert not places().connection_file.exists()

        again = units.install()
        assert (again.ended, again.status.active) == (None, True)
        once_more = units.install()
        assert (once_more.ended, once_more.status.active) == (None, True)
        assert once_more.status.pid != again.status.pid

        assert units.uninstall().removed
        assert list(at.file.parent.iterdir()) == [at.file.parent / f"{UNIT}.d"]
        assert units.status() == ServiceStatus("systemd", at.file, False, False, "inactive")
        assert not [process for process in processes() if b"backtraild" in _command(process)]
        assert not units.uninstall().removed
        assert at.captured().keys() == {b"before", b"after"}


def a_hang(folder: Path) -> None:
    """The watchdog leaves a daemon that answers alone, and restarts one that does not."""
    with ground(folder):
        del os.environ["BACKTRAIL_HOME"]  # the usual folders, on which unit and client have to agree
        first = units.install().status
        assert "BACKTRAIL_HOME" not in first.file.read_text()
        eventually(lambda: _fed_for(first) > 1.5 * _TURN, why="the watchdog is not fed")
        assert shown(UNIT, "NRestarts", "MainPID") == ["0", str(first.pid)]

        assert first.pid is not None
        os.kill(first.pid, signal.SIGSTOP)
        eventually(lambda: units.status().pid not in (first.pid, None) and units.status().active)
        assert shown(UNIT, "NRestarts") == ["1"]
        _check_answering(units.status())
        assert units.uninstall().removed


def a_second_daemon(folder: Path) -> None:
    """Somebody starts the unit while a daemon runs that a command has started."""
    with ground(folder) as at:
        units.install()
        assert systemctl("stop", UNIT) == 0
        with Process(at.home, "--watch", str(at.root)).wait_until_ready() as outside:
            assert systemctl("start", UNIT) != 0
            assert shown(UNIT, "NRestarts", "ExecMainStatus", "ActiveState") == ["0", "1", "failed"]
            assert units.status().state == "failed"
            assert outside.is_running()
            assert places().runtime.exists()
            assert outside.end() == 0
        assert units.install().status.active
        assert units.uninstall().removed


def a_program_that_does_not_start(folder: Path) -> None:
    """An installation that is broken: the user learns so, and the machine is not kept busy with it."""
    with ground(folder) as at:
        broken = folder / "bin" / "backtraild"
        broken.parent.mkdir()
        broken.write_text("#!/bin/sh\nexit 70\n")
        broken.chmod(0o755)
        sys.executable = str(broken.with_name("python3"))
        with pytest.raises(ServiceFailed) as raised:
            units.install()
        message = raised.value.message
        assert f"`systemctl --user start {UNIT}` failed: Job for {UNIT} failed" in message, message
        assert "journalctl --user" in raised.value.hint
        eventually(lambda: units.status().state == "failed", why="it is started again and again")
        assert int(shown(UNIT, "NRestarts")[0]) <= 5
        assert units.uninstall().removed
        assert not at.file.exists()


def all_that_it_does(folder: Path) -> None:
    """Everything the daemon needs of the system, under the restrictions of the unit that is shipped."""
    with ground(folder) as at:
        at.root.chmod(0o2770)
        (at.root / "sub").mkdir()
        (at.root / "sub" / "file").write_text("in a folder that keeps its group")
        (at.root / "program").write_text("old")
        (at.root / "program").chmod(0o755)
        said = folder / "said"
        unit = at.file.with_name("restricted.service")
        unit.write_text(
            text.shipped(UNIT)
            .decode()
            .replace("Type=notify", "Type=oneshot")
            .replace("Restart=on-failure", "")
            + f"[Service]\nExecStart=\nExecStart={sys.executable} {_RESTRICTED} {at.root} {folder}/store\n"
            + f"WatchdogSec=0\nStandardOutput=append:{said}\nStandardError=append:{said}\n"
        )
        status = systemctl("start", unit.name)
        assert status == 0, said.read_text()
        assert said.read_text() == "everything worked\n"


def _check_answering(status: ServiceStatus) -> None:
    """Active means that whoever asks now gets an answer."""
    with Client(autostart=False) as client:
        assert client.ping().pid == status.pid


def _check_protected(status: ServiceStatus) -> None:
    lines = Path(f"/proc/{status.pid}/status").read_text().splitlines()
    found = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    assert (found["NoNewPrivs"], found["Seccomp"], found["Umask"]) == ("1", "2", "0077"), found


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""


def _fed_for(status: ServiceStatus) -> int:
    """Microseconds from the start of the daemon to the last time it has fed the watchdog."""
    started, fed = shown(UNIT, "ActiveEnterTimestampMonotonic", "WatchdogTimestampMonotonic")
    return int(fed) - int(started)
