"""What can be said about Backtrail as a system service: values for whoever prints them, and what can go wrong."""

from datetime import datetime
from pathlib import Path

from msgspec import Struct

from backtrail.errors import BacktrailError


class ServiceStatus(Struct, frozen=True):
    """How the service is doing, told by the manager that runs it."""

    manager: str  # `systemd` or `launchd`
    file: Path  # the unit file that holds, or the place where it would be put
    installed: bool
    enabled: bool  # whether it starts by itself when its user logs in
    state: str  # in systemd's words: `active`, `inactive`, `failed`, …
    pid: int | None = None
    since: datetime | None = None

    @property
    def active(self) -> bool:
        """Whether it runs and answers."""
        return self.state == "active"


class ServiceInstalled(Struct, frozen=True):
    """The service is installed and runs."""

    status: ServiceStatus
    program: Path
    ended: int | None  # the process of a daemon that ran outside the manager and had to make room


class ServiceUninstalled(Struct, frozen=True):
    """The service is not installed any more, or never was."""

    manager: str
    file: Path
    removed: bool  # whether there was something to remove


class NoServiceManager(BacktrailError):
    """Neither systemd nor launchd works for this user here."""

    code = "no-service-manager"


class ServiceFailed(BacktrailError):
    """The manager, or the daemon under it, did not do what it was asked for."""

    code = "service-failed"
