"""`daemon start`, `stop`, `restart`, `status`, `run`: the process behind all other commands."""

import os
import sys
from argparse import ArgumentParser

import msgspec

from backtrail.cli import render
from backtrail.cli.command import OF_DAEMON, Command
from backtrail.cli.ending import wait_for_end
from backtrail.cli.invocation import Invocation
from backtrail.client import Client
from backtrail.errors import DaemonUnreachable, NothingToDo
from backtrail.paths import places
from backtrail.protocol import WORKSPACES, ConnectionFile, Workspaces
from backtrail.wire.deadline import Deadline
from backtrail.wire.locating import Locator
from backtrail.wire.starting import start


def _start(invocation: Invocation) -> int:
    before = _look()
    now = before or start(places(), None, Deadline(None))
    answer = {"pid": now.pid, "version": now.version, "started": before is None}
    text = f"The daemon is running already, as process {now.pid}."
    if before is None:
        text = f"The daemon is running now, as process {now.pid}."
    invocation.give(answer, lambda _: text)
    return 0


def _stop(invocation: Invocation) -> int:
    ended = _end()
    invocation.give(
        {"pid": ended}, lambda _: f"The daemon, process {ended}, has saved what was pending and ended."
    )
    return 0


def _restart(invocation: Invocation) -> int:
    before = _end() if _look() is not None else None
    now = start(places(), None, Deadline(None))
    answer = {"pid": now.pid, "version": now.version, "started": True, "ended": before}
    invocation.give(answer, lambda _: f"The daemon is running now, as process {now.pid}.")
    return 0


def _status(invocation: Invocation) -> int:
    found = _look()
    if found is None:
        raise DaemonUnreachable(
            "No daemon is running.", "`backtrail daemon start` starts it; so does any command that needs it."
        )
    with Client(autostart=False) as client:
        pong = client.ping()
        watched = client.call(WORKSPACES, Workspaces())
    endpoints = {"requests": found.requests, "events": found.events}
    answer = {**msgspec.to_builtins(pong), "endpoints": endpoints, "workspaces": watched.workspaces}
    invocation.give(
        {"running": True, **answer},
        lambda screen: render.daemon_status(pong, list(endpoints.values()), watched, screen),
    )
    return 0


def _run(invocation: Invocation) -> int:
    """This process becomes the daemon: signals, and whoever waits for it, find it under the same number."""
    words = [sys.executable, "-m", "backtraild"]
    if invocation.options.verbose:
        words.append("--verbose")
    os.execv(sys.executable, words)  # noqa: S606 - no shell is wanted


def _run_options(parser: ArgumentParser) -> None:
    parser.add_argument("--verbose", action="store_true", help="log more")


def _look() -> ConnectionFile | None:
    return Locator(autostart=False, home=None, connection=None).look()


def _end() -> int:
    """End the daemon, never start one; its process, once that is gone."""
    found = _look()
    if found is None:
        raise NothingToDo("No daemon is running.", "`backtrail daemon start` starts it.")
    with Client(autostart=False) as client, wait_for_end(found.pid):
        client.stop()
    return found.pid


COMMANDS = {
    "daemon start": Command(
        _start,
        "Start the daemon if none is running. Any command that needs it does the same.",
        "backtrail daemon start",
        OF_DAEMON,
    ),
    "daemon stop": Command(
        _stop,
        "Save what is pending, end the daemon and wait until it is gone. The next command that needs it starts it\n"
        "again, and it catches up with what changed meanwhile.",
        "backtrail daemon stop",
        (*OF_DAEMON, 3),
    ),
    "daemon restart": Command(
        _restart,
        "Stop the daemon and start it again, for example after an update.",
        "backtrail daemon restart",
        OF_DAEMON,
    ),
    "daemon status": Command(
        _status,
        "Tell which daemon is running, since when, and where it listens. It is never started by this.",
        "backtrail daemon status",
        OF_DAEMON,
    ),
    "daemon run": Command(
        _run,
        "Run the daemon in the foreground, until Ctrl-C: for a service manager, or to read along.",
        "backtrail daemon run --verbose",
        (0, 1, 2),
        options=_run_options,
    ),
}
