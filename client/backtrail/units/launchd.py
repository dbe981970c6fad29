"""launchd, the service manager of macOS: the only module that calls launchctl."""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from backtrail.units import files, text
from backtrail.units.answers import NoServiceManager, ServiceFailed, ServiceStatus
from backtrail.units.calls import attempt, call

LABEL = text.LAUNCHD_LABEL

_LOOK = f"`launchctl print gui/$UID/{LABEL}` and ~/Library/Logs/backtraild.log tell more."


class Launchd:
    """The user's own agents."""

    name = "launchd"

    def __init__(self) -> None:
        if shutil.which("launchctl") is None:
            raise NoServiceManager("This machine has no launchctl.")
        library = Path.home() / "Library"
        self.file = library / "LaunchAgents" / text.LAUNCHD_PLIST
        self._log = library / "Logs" / "backtraild.log"
        self._domain = f"gui/{os.getuid()}"
        self._agent = f"{self._domain}/{LABEL}"

    def put(self, program: Path, environment: Mapping[str, str]) -> None:
        """Write the agent, and stop what ran under an earlier one."""
        content = text.launchd_plist(text.shipped(text.LAUNCHD_PLIST), program, environment, self._log)
        files.put(self.file, content)
        attempt("launchctl", "bootout", self._agent)  # refused where there is none

    def start(self) -> None:
        """Start it now and at every login."""
        call("launchctl", "enable", self._agent, hint=_LOOK)
        call("launchctl", "bootstrap", self._domain, str(self.file), hint=_LOOK)

    def remove(self) -> bool:
        """Stop it and remove the agent; whether there was one."""
        if not self.file.exists():
            return False
        attempt("launchctl", "bootout", self._agent)
        files.remove(self.file)
        return True

    def status(self) -> ServiceStatus:
        """How it is doing. launchd does not tell since when."""
        installed = self.file.exists()
        try:
            said = call("launchctl", "print", self._agent)
        except ServiceFailed:
            said = ""  # not loaded
        process = re.search(r"^\s*pid = (\d+)$", said, re.MULTILINE)
        return ServiceStatus(
            manager=self.name,
            file=self.file,
            installed=installed,
            enabled=installed and not self._is_disabled(),
            state="active" if process else "inactive",
            pid=int(process.group(1)) if process else None,
        )

    def _is_disabled(self) -> bool:
        said = call("launchctl", "print-disabled", self._domain)
        return re.search(rf'"{re.escape(LABEL)}" => (disabled|true)', said) is not None
