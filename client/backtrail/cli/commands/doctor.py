"""`doctor`: everything that is usually wrong when something is wrong, looked at in one go."""

from backtrail.cli import checkup, render
from backtrail.cli.command import Command
from backtrail.cli.invocation import Invocation


def _doctor(invocation: Invocation) -> int:
    checks = list(checkup.everything(invocation.client))
    answer = [{"level": check.level, "message": check.sentence, "hint": check.hint} for check in checks]
    healthy = all(check.level != "problem" for check in checks)
    invocation.give({"healthy": healthy, "checks": answer}, lambda screen: render.doctor(checks, screen))
    return 0 if healthy else 1


COMMANDS = {
    "doctor": Command(
        _doctor,
        "Look for what keeps Backtrail from working: its folders, its configuration, the daemon, the kernel's\n"
        "limits, free space, and every workspace. Says what to do about each problem (exit code 1 if there is one).",
        "backtrail doctor",
        (0, 1, 2),
    )
}
