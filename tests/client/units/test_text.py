"""The unit files that come with Backtrail, and those that are made from them."""

import configparser
import plistlib
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from backtrail.units import ServiceFailed, text

ROOT = Path(__file__).parents[3]
# Quotes and backslashes systemd accepts in no program's name, but in a variable's value.
AWKWARD = Path("/opt/my tools/100% $HOME; %h/backtraild")
QUOTES = "/home/a \"b\" 'c' \\n %h"


def verified(content: bytes, folder: Path) -> str:
    """What systemd has to say about a unit."""
    unit = folder / text.SYSTEMD_UNIT
    unit.write_bytes(content)
    (folder / "run").mkdir(exist_ok=True)
    done = subprocess.run(
        ["systemd-analyze", "--user", "verify", unit],
        env={"HOME": str(folder), "XDG_RUNTIME_DIR": str(folder / "run"), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def program_at(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="systemd-analyze is not on this machine"
)


@needs_systemd
def test_systemd_has_nothing_to_say_about_the_unit(tmp_path: Path):
    """systemd ignores keys it does not know with a warning: then a protection one relies on is not there."""
    shipped = text.shipped(text.SYSTEMD_UNIT)
    program_at(tmp_path / ".local/bin/backtraild")
    assert verified(shipped, tmp_path) == ""
    assert "Unknown key" in verified(shipped.replace(b"NoNewPrivileges", b"NoNewPriviliges"), tmp_path)


@needs_systemd
def test_systemd_finds_the_program_whatever_its_folder_is_called(tmp_path: Path):
    """A space ends a word, a percent sign begins a specifier and a quote a quotation, unless they are escaped."""
    program = program_at(tmp_path / AWKWARD.relative_to("/"))
    unit = text.systemd_unit(text.shipped(text.SYSTEMD_UNIT), program, {"BACKTRAIL_HOME": QUOTES})
    assert verified(unit, tmp_path) == ""
    program.unlink()
    assert "is not executable" in verified(unit, tmp_path)


def test_a_line_break_in_a_folder_can_not_become_a_setting():
    """Who names a folder does not thereby say what is run at login."""
    unit = text.systemd_unit(
        b"[Service]\nExecStart=x\n", Path("/a"), {"BACKTRAIL_HOME": "/b\nExecStartPre=/c"}
    )
    assert unit == b'[Service]\nExecStart="/a"\nEnvironment="BACKTRAIL_HOME=/b\\nExecStartPre=/c"\n'


def test_only_the_program_and_the_environment_differ_from_the_unit_that_is_shipped():
    """What is installed has the protections that were tested."""
    shipped = text.shipped(text.SYSTEMD_UNIT)
    made = text.systemd_unit(shipped, Path("/opt/backtraild"), {})
    assert made.replace(b'ExecStart="/opt/backtraild"', b"ExecStart=%h/.local/bin/backtraild") == shipped


def test_a_daemon_that_fails_at_every_start_reaches_the_limit():
    """Starts that are further apart than the limit's interval allows are tried for ever."""
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read_string(text.shipped(text.SYSTEMD_UNIT).decode())
    seconds_to_fail = 20
    burst = int(unit["Unit"]["StartLimitBurst"]) * (int(unit["Service"]["RestartSec"]) + seconds_to_fail)
    assert burst < int(unit["Unit"]["StartLimitIntervalSec"])


def test_a_file_that_the_package_lacks_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """A repackaged Backtrail may have left it out."""
    monkeypatch.setattr(text, "_FOLDERS", (tmp_path,))
    with pytest.raises(ServiceFailed, match=r"The file backtraild\.service is missing"):
        text.shipped(text.SYSTEMD_UNIT)


def test_the_agent_for_launchd_starts_at_login_and_again_after_a_failure_only():
    """`backtrail daemon stop` means stop; a crash means start again."""
    agent = plistlib.loads(text.shipped(text.LAUNCHD_PLIST))
    log = agent.pop("StandardErrorPath")
    assert agent.pop("StandardOutPath") == log
    assert agent == {
        "Label": text.LAUNCHD_LABEL,
        "ProgramArguments": ["/usr/local/bin/backtraild"],
        "RunAtLoad": True,
        "KeepAlive": {"SuccessfulExit": False},
        "ThrottleInterval": 30,
        "ExitTimeOut": 60,
        "ProcessType": "Background",
        "Umask": 0o077,
    }


def test_the_agent_that_is_installed_names_this_machine_s_program_log_and_home():
    """launchd expands neither ~ nor variables."""
    shipped = text.shipped(text.LAUNCHD_PLIST)
    environment = {"BACKTRAIL_HOME": "/home/<me> & co"}
    made = plistlib.loads(text.launchd_plist(shipped, AWKWARD, environment, Path("/logs/backtraild.log")))
    assert made == {
        **plistlib.loads(shipped),
        "ProgramArguments": [str(AWKWARD)],
        "StandardOutPath": "/logs/backtraild.log",
        "StandardErrorPath": "/logs/backtraild.log",
        "EnvironmentVariables": environment,
    }
    assert "EnvironmentVariables" not in plistlib.loads(
        text.launchd_plist(shipped, AWKWARD, {}, Path("/log"))
    )


def test_a_wheel_carries_the_files_where_they_are_looked_for():
    """In a checkout they are found beside the package, so that only an installed Backtrail would miss them."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]
    ((folder, inside),) = build["wheel"]["force-include"].items()
    assert {text.SYSTEMD_UNIT, text.LAUNCHD_PLIST} == {path.name for path in (ROOT / folder).iterdir()}
    in_package, in_checkout = text._FOLDERS
    assert in_package == Path(text.__file__).parents[2] / inside
    assert in_checkout == ROOT / folder
    assert f"/{folder}" in build["sdist"]["include"]
