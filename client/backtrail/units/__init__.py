"""Backtrail as a service that starts with its user's session: what `backtrail service` does, without the printing."""

import os
import shutil
import sys
from pathlib import Path

from backtrail.paths import places
from backtrail.units import running
from backtrail.units.answers import (
    NoServiceManager,
    ServiceFailed,
    ServiceInstalled,
    ServiceStatus,
    ServiceUninstalled,
)
from backtrail.units.launchd import Launchd
from backtrail.units.systemd import Systemd

__all__ = [
    "NoServiceManager",
    "ServiceFailed",
    "ServiceInstalled",
    "ServiceStatus",
    "ServiceUninstalled",
    "install",
    "status",
    "uninstall",
]

PROGRAM = "backtraild"

# A manager starts programs in an environment of its own. With these the daemon and the commands typed in this shell
# mean the same folders.
_PASSED_ON = ("BACKTRAIL_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")


def install() -> ServiceInstalled:
    """Start the daemon now and at every login; it may be installed already.

    A daemon that a command started holds the lock that the manager's needs: it is ended first.
    """
    manager, program, where = _manager(), _program(), places()
    with running.alone(where):
        manager.put(program, _environment())
        ended = running.end(where.lock)
        manager.start()
    return ServiceInstalled(manager.status(), program, ended)


def uninstall() -> ServiceUninstalled:
    """Stop the daemon and do not start it any more. Checkpoints and settings stay."""
    manager = _manager()
    return ServiceUninstalled(manager.name, manager.file, manager.remove())


def status() -> ServiceStatus:
    """How the service is doing."""
    return _manager().status()


def _manager() -> Systemd | Launchd:
    """The manager that works for this user here."""
    try:
        return Launchd() if os.uname().sysname == "Darwin" else Systemd()
    except NoServiceManager as error:
        raise NoServiceManager(
            f"Backtrail can't run as a service here. {error.message}",
            "It is not needed: the first `backtrail` command starts the daemon, and `backtrail daemon start` does so"
            f" at any time. To start it at boot, add the line `@reboot {_program_or_name()}` with `crontab -e`.",
        ) from error


def _program() -> Path:
    """The daemon that belongs to this client: beside its Python, or else the one on PATH."""
    beside = Path(sys.executable).parent / PROGRAM
    if os.access(beside, os.X_OK):
        return beside.absolute()
    found = shutil.which(PROGRAM)
    if found is None:
        raise ServiceFailed(
            f"The program {PROGRAM} is neither in {beside.parent} nor on PATH.",
            "Install Backtrail again, for example with `pipx install backtrail`.",
        )
    return Path(found).absolute()


def _program_or_name() -> str:
    try:
        return str(_program())
    except ServiceFailed:
        return PROGRAM


def _environment() -> dict[str, str]:
    return {name: os.path.abspath(os.environ[name]) for name in _PASSED_ON if os.environ.get(name)}
