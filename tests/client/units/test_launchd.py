"""The service on macOS, against a launchctl that keeps its jobs in a folder and answers as the real one."""

import os
import plistlib
import stat
from pathlib import Path

import pytest

from backtrail import units
from backtrail.units import ServiceFailed, text
from backtrail.units.launchd import Launchd

# What the daemon's side of it can be seen to do: print fails for a job that is not loaded, bootstrap for one that is.
_LAUNCHCTL = """#!/bin/sh
set -eu
echo "$*" >> "$HOME/calls"
job="$HOME/loaded"
case "$1" in
bootstrap) [ ! -e "$job" ] || { echo "Bootstrap failed: 5: Input/output error" >&2; exit 5; }; cp "$3" "$job" ;;
bootout) [ -e "$job" ] || { echo "Boot-out failed: 3: No such process" >&2; exit 3; }; rm "$job" ;;
print) [ -e "$job" ] || { echo "Could not find service" >&2; exit 113; }
    printf '%s = {\\n\\tactive count = 1\\n\\tstate = running\\n\\tpid = 4711\\n}\\n' "$2" ;;
enable) rm -f "$HOME/disabled" ;;
print-disabled) printf 'disabled services = {\\n'
    [ ! -e "$HOME/disabled" ] || printf '\\t"io.github.backtrail.backtraild" => disabled\\n'
    printf '}\\n' ;;
esac
"""


@pytest.fixture(autouse=True)
def _macos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "launchctl"
    program.parent.mkdir()
    program.write_text(_LAUNCHCTL)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("BACKTRAIL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(units, "_manager", Launchd)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "Library" / "LaunchAgents" / text.LAUNCHD_PLIST


def test_an_installed_agent_runs_and_names_the_program(file: Path, tmp_path: Path):
    """One command, and the daemon is there after every login."""
    done = units.install()
    assert done.status == units.ServiceStatus(
        "launchd", file, installed=True, enabled=True, state="active", pid=4711
    )
    assert done.ended is None
    agent = plistlib.loads((tmp_path / "loaded").read_bytes())
    assert agent["ProgramArguments"] == [str(done.program)]
    assert agent["EnvironmentVariables"] == {"BACKTRAIL_HOME": str(tmp_path / "home")}
    assert agent["StandardErrorPath"] == str(tmp_path / "Library/Logs/backtraild.log")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    domain = f"gui/{os.getuid()}"
    assert f"bootstrap {domain} {file}" in (tmp_path / "calls").read_text()


def test_installing_again_replaces_the_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """After an update, or with another home."""
    units.install()
    monkeypatch.setenv("BACKTRAIL_HOME", str(tmp_path / "other"))
    assert units.install().status.active
    agent = plistlib.loads((tmp_path / "loaded").read_bytes())
    assert agent["EnvironmentVariables"] == {"BACKTRAIL_HOME": str(tmp_path / "other")}


def test_an_agent_that_was_disabled_by_hand_is_seen_and_enabled_by_installing(tmp_path: Path):
    """launchd remembers that beside the file."""
    units.install()
    (tmp_path / "disabled").touch()
    assert not units.status().enabled
    assert units.install().status.enabled


def test_uninstalling_leaves_nothing_and_may_be_repeated(file: Path, tmp_path: Path):
    """Also where it never was installed."""
    assert not units.uninstall().removed
    units.install()
    assert units.uninstall() == units.ServiceUninstalled("launchd", file, removed=True)
    assert not (tmp_path / "loaded").exists()
    assert not file.exists()
    assert list(file.parent.iterdir()) == []
    assert not units.uninstall().removed
    assert units.status() == units.ServiceStatus(
        "launchd", file, installed=False, enabled=False, state="inactive"
    )


def test_what_launchctl_says_about_a_failure_is_passed_on(tmp_path: Path):
    """The user needs its words to search for."""
    launchctl = tmp_path / "bin" / "launchctl"
    launchctl.write_text("#!/bin/sh\necho 'Bootstrap failed: 5: Input/output error' >&2\nexit 5\n")
    with pytest.raises(ServiceFailed) as raised:
        units.install()
    assert "failed: Bootstrap failed: 5: Input/output error" in raised.value.message
    assert "Library/Logs" in raised.value.hint
