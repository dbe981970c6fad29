"""systemd's user instance: the only module that calls systemctl."""

import shlex
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from backtrail.units import files, text
from backtrail.units.answers import NoServiceManager, ServiceFailed, ServiceStatus
from backtrail.units.calls import attempt, call

UNIT = text.SYSTEMD_UNIT
# Longer than the unit's own TimeoutStopSec and TimeoutStartSec: systemd is to be the one who gives up.
STOP_SECONDS, START_SECONDS = 90.0, 210.0

_LOOK = f"`systemctl --user status {UNIT}` and `journalctl --user -u {UNIT}` tell more."
_SHOWN = "LoadState,UnitFileState,ActiveState,ActiveEnterTimestamp,MainPID,FragmentPath"


class Systemd:
    """The user's own systemd."""

    name = "systemd"

    def __init__(self) -> None:
        if shutil.which("systemctl") is None:
            raise NoServiceManager("This machine has no systemctl.")
        try:
            said = call("systemctl", "--user", "show", "--property=UnitPath")
        except ServiceFailed as error:
            raise NoServiceManager(f"No systemd runs for this user: {error.message}") from error
        self.file = _unit_folder(said) / UNIT

    def put(self, program: Path, environment: Mapping[str, str]) -> None:
        """Write the unit, and stop what ran under an earlier one."""
        files.put(self.file, text.systemd_unit(text.shipped(UNIT), program, environment))
        call("systemctl", "--user", "daemon-reload")
        call("systemctl", "--user", "stop", UNIT, seconds=STOP_SECONDS, hint=_LOOK)
        # After too many failed starts systemd refuses the next one. A unit that is not loaded has none to forget.
        attempt("systemctl", "--user", "reset-failed", UNIT)

    def start(self) -> None:
        """Start it now and at every login; it answers when this returns."""
        call("systemctl", "--user", "enable", UNIT, hint=_LOOK)
        call("systemctl", "--user", "start", UNIT, seconds=START_SECONDS, hint=_LOOK)

    def remove(self) -> bool:
        """Stop it and remove the unit; whether there was one."""
        if not self.file.exists():
            return False
        call("systemctl", "--user", "disable", "--now", UNIT, seconds=STOP_SECONDS, hint=_LOOK)
        files.remove(self.file)
        call("systemctl", "--user", "daemon-reload")
        attempt("systemctl", "--user", "reset-failed", UNIT)
        return True

    def status(self) -> ServiceStatus:
        """How it is doing."""
        said = call("systemctl", "--user", "show", UNIT, f"--property={_SHOWN}")
        found = dict(line.split("=", 1) for line in said.splitlines() if "=" in line)
        active = found["ActiveState"] == "active"
        return ServiceStatus(
            manager=self.name,
            file=Path(found["FragmentPath"] or self.file),
            installed=found["LoadState"] == "loaded",
            enabled=found["UnitFileState"].startswith("enabled"),
            state=found["ActiveState"],
            pid=int(found["MainPID"]) or None,
            since=_time(found["ActiveEnterTimestamp"]) if active else None,
        )


def _unit_folder(said: str) -> Path:
    """The folder for a user's own units, in the search path of the systemd that will look for them.

    The environment of this process may name another configuration folder than the one that systemd was started with.
    """
    for folder in shlex.split(said.strip().removeprefix("UnitPath=")):
        if folder.endswith("/systemd/user"):
            return Path(folder)
    raise NoServiceManager("The systemd of this user looks for units in no folder of the user's.")


def _time(shown: str) -> datetime | None:
    """The time in `Mon 2026-11-16 03:35:12 UTC`."""
    if not shown:
        return None
    return datetime.strptime(shown.split(" ", 1)[1], "%Y-%m-%d %H:%M:%S %Z").replace(tzinfo=UTC)
