"""`service install`, `uninstall`, `status`: the daemon started by the system at every login."""

from backtrail import units
from backtrail.cli.characters import visible
from backtrail.cli.command import Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.terminal import Screen


def _install(invocation: Invocation) -> int:
    done = units.install()
    answer = {**_fields(done.status), "program": str(done.program), "ended": done.ended}
    invocation.give(answer, lambda screen: _installed_text(done, screen))
    return 0


def _uninstall(invocation: Invocation) -> int:
    done = units.uninstall()
    text = f"Removed {visible(str(done.file))}: the daemon no longer starts by itself. Checkpoints stay."
    if not done.removed:
        text = "The service is not installed, so there is nothing to remove."
    answer = {"manager": done.manager, "file": str(done.file), "removed": done.removed}
    invocation.give(answer, lambda _: text)
    return 0


def _status(invocation: Invocation) -> int:
    found = units.status()
    invocation.give(_fields(found), lambda screen: _status_text(found, screen))
    return 0


def _fields(status: units.ServiceStatus) -> dict[str, object]:
    return {
        "manager": status.manager,
        "file": str(status.file),
        "installed": status.installed,
        "enabled": status.enabled,
        "state": status.state,
        "pid": status.pid,
        "since": status.since,
    }


def _installed_text(done: units.ServiceInstalled, screen: Screen) -> str:
    moved = f" The daemon that was running, process {done.ended}, made room for it." if done.ended else ""
    return (
        f"{done.status.manager} runs the daemon from now on, at every login.{moved}\n"
        f"{_status_text(done.status, screen)}"
    )


def _status_text(status: units.ServiceStatus, screen: Screen) -> str:
    if not status.installed:
        return (
            "The service is not installed: the daemon is started by the first command that needs it.\n"
            "`backtrail service install` starts it at every login."
        )
    since = f", since {screen.ago(status.since)}" if status.since else ""
    process = f", process {status.pid}" if status.pid else ""
    rows = [
        f"{screen.paint(visible(status.state), 'green' if status.active else 'red')}{process}{since}",
        f"  starts at login  {'yes' if status.enabled else 'no'}",
        f"  {status.manager} reads   {visible(str(status.file))}",
    ]
    return "\n".join(rows)


COMMANDS = {
    "service install": Command(
        _install,
        "Let systemd or launchd start the daemon now and at every login. A daemon that is running already makes\n"
        "room for it.",
        "backtrail service install",
        (0, 1, 2),
    ),
    "service uninstall": Command(
        _uninstall,
        "Stop the daemon and do not start it at login any more. Checkpoints and settings stay.",
        "backtrail service uninstall",
        (0, 1, 2),
    ),
    "service status": Command(
        _status,
        "Tell whether the service is installed, and how it is doing.",
        "backtrail service status",
        (0, 1, 2),
    ),
}
