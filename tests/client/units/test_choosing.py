"""Which manager there is, which program it is to start, and what is said where there is none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backtrail import units
from backtrail.units import NoServiceManager, ServiceFailed, calls, files


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    found = tmp_path / "empty"
    found.mkdir()
    return found


@pytest.mark.parametrize("ask", [units.install, units.uninstall, units.status])
def test_without_a_manager_it_says_what_to_do_instead(ask, empty: Path, monkeypatch: pytest.MonkeyPatch):
    """Containers and minimal systems have none; Backtrail works there all the same."""
    monkeypatch.setenv("PATH", str(empty))
    with pytest.raises(NoServiceManager) as raised:
        ask()
    assert raised.value.code == "no-service-manager"
    assert "can't run as a service here. This machine has no systemctl." in raised.value.message
    assert "`backtrail daemon start`" in raised.value.hint
    assert "`@reboot " in raised.value.hint


@pytest.mark.skipif(shutil.which("systemctl") is None, reason="systemctl is not on this machine")
def test_a_systemd_that_does_not_run_for_this_user_is_none(empty: Path, monkeypatch: pytest.MonkeyPatch):
    """After `su`, or in a container, the program is there and nobody answers it."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(empty))
    monkeypatch.delenv("DBUS_SESSION_BUS_ADDRESS", raising=False)
    with pytest.raises(
        NoServiceManager, match=r"No systemd runs for this user: `systemctl .*` failed: .*connect"
    ):
        units.status()


def program_in(folder: Path) -> Path:
    program = folder / "backtraild"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_the_program_beside_this_python_comes_before_the_one_on_the_path(
    empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The daemon must be of the same version as the command that installs it."""
    on_path = tmp_path / "path"
    on_path.mkdir()
    monkeypatch.setattr(sys, "executable", str(empty / "python3"))
    monkeypatch.setenv("PATH", str(on_path))
    with pytest.raises(ServiceFailed, match=f"neither in {empty} nor on PATH"):
        units._program()
    assert units._program_or_name() == "backtraild"
    assert program_in(on_path) == units._program()
    assert program_in(empty) == units._program()


def test_the_daemon_is_given_the_folders_that_hold_in_this_shell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The manager does not read the shell's profile; commands and daemon would work on different stores."""
    assert units._environment() == {}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BACKTRAIL_HOME", "here")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert units._environment() == {"BACKTRAIL_HOME": str(tmp_path / "here"), "XDG_DATA_HOME": "/data"}


def test_a_manager_that_does_not_come_back_is_not_waited_for():
    """A command that hangs tells nobody what is wrong."""
    with pytest.raises(ServiceFailed, match=r"`sleep 60` did not come back within 0 seconds"):
        calls.call("sleep", "60", seconds=0.05)


def test_what_a_call_said_is_in_the_error(empty: Path):
    """On stderr, on stdout or not at all."""
    with pytest.raises(ServiceFailed, match=r"`sh -c .*` failed: no bus, no luck$"):
        calls.call("sh", "-c", "echo no bus, >&2; echo no luck >&2; exit 4")
    with pytest.raises(ServiceFailed, match="failed: exit status 4"):
        calls.call("sh", "-c", "exit 4")
    with pytest.raises(ServiceFailed, match="could not be called: No such file"):
        calls.call(str(empty / "nothing"))


def test_a_unit_file_is_replaced_in_one_step(tmp_path: Path):
    """A manager that reads at any moment finds one or the other, and a reader keeps what it has opened."""
    file = tmp_path / "a" / "b" / "unit"
    files.put(file, b"old")
    with open(file, "rb") as reader:
        files.put(file, b"new")
        assert reader.read() == b"old"
    assert file.read_bytes() == b"new"
    assert [path.name for path in file.parent.iterdir()] == ["unit"]


def test_a_unit_file_that_can_not_be_written_or_removed_is_named(tmp_path: Path):
    """A full disk, or a file where a folder should be; and nothing is left lying about."""
    (tmp_path / "file").touch()
    with pytest.raises(ServiceFailed, match=f"{tmp_path}/file/unit can't be written: "):
        files.put(tmp_path / "file" / "unit", b"")
    (tmp_path / "unit" / "x").mkdir(parents=True)
    with pytest.raises(ServiceFailed, match=f"{tmp_path}/unit can't be written: "):
        files.put(tmp_path / "unit", b"")
    with pytest.raises(ServiceFailed, match=f"{tmp_path}/unit can't be removed: "):
        files.remove(tmp_path / "unit")
    assert sorted(os.listdir(tmp_path)) == ["file", "unit"]


def test_the_client_s_side_needs_nothing_of_the_daemon():
    """`backtrail service status` is quick, and works where the daemon's libraries do not."""
    script = "import sys, backtrail.units; print(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"backtraild", "pygit2", "watchdog", "zmq"}
