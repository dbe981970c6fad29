"""`hook`: called by a coding agent for everything that happens in it, and never in its way."""

import contextlib
import os
import sys
import threading
from argparse import ArgumentParser
from collections.abc import Iterator
from typing import Any

import msgspec

from backtrail.cli.command import ALWAYS_DONE, Argument, Command
from backtrail.cli.invocation import Invocation, is_debugged, tell
from backtrail.cli.payload import read
from backtrail.errors import UsageError
from backtrail.hooks import AGENTS, ALIASES, Told, What, understood
from backtrail.wire.deadline import Deadline

# A payload holds what a tool was given and what it answered.
_MOST = 16 * 1024 * 1024
_READING_SECONDS = 1.0
# Agents wait for their hooks, and end together with the last one after little more than a second.
_SECONDS = {
    What.SESSION_STARTED: 5.0,
    What.TURN_STARTED: 5.0,
    What.TOOL_USED: 2.0,
    What.TURN_ENDED: 5.0,
    What.SUBAGENT_ENDED: 5.0,
    What.SESSION_ENDED: 1.0,
}
# What is hung beyond all deadlines ends with the process.
_GRACE_SECONDS = 0.3


def _hook(invocation: Invocation) -> int:
    agent = ALIASES.get(invocation.options.agent, invocation.options.agent)
    if invocation.options.settings:
        return _print_settings(invocation, agent)
    if agent == "gemini":  # which takes anything but JSON for an answer to the user; first, whatever comes
        with contextlib.suppress(Exception):
            invocation.write_bytes(b"{}")
    try:
        _report(invocation, agent)
    except (Exception, KeyboardInterrupt) as error:
        _note(agent, error)
    return 0


def _report(invocation: Invocation, agent: str) -> None:
    with _ending_after(_READING_SECONDS):
        told = understood(agent, _decoded(_payload()))
    if told is not None:
        _tell_daemon(invocation, agent, told)


def _payload() -> bytes:
    found = read(sys.stdin.fileno(), _MOST, Deadline(_READING_SECONDS))
    if found is None:
        raise UsageError(f"The payload has more than {_MOST:,} bytes.")
    return found


def _decoded(payload: bytes) -> Any:
    """The JSON in it."""
    try:
        return msgspec.json.decode(payload)
    except (ValueError, RecursionError):
        import json  # which takes what JavaScript writes for half of a character

    try:
        return json.loads(payload)
    except (ValueError, RecursionError):
        raise UsageError(f"The payload, {len(payload):,} bytes, is not JSON.") from None


def _tell_daemon(invocation: Invocation, agent: str, told: Told) -> None:
    seconds = _SECONDS[told.what]
    with _ending_after(seconds):
        deadline = Deadline(seconds)
        from backtrail.cli.reporting import Report  # the larger part of the time that a hook takes

        Report(invocation.client, deadline, agent, told, invocation.options.workspace).make()


@contextlib.contextmanager
def _ending_after(seconds: float) -> Iterator[None]:
    """The process ends, as if all was well, if the block is not through by then and a little."""
    timer = threading.Timer(seconds + _GRACE_SECONDS, os._exit, (0,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _note(agent: str, error: BaseException) -> None:
    """Where somebody looks who wonders, and never where the agent would see it."""
    from backtrail.cli import hook_log

    with contextlib.suppress(Exception):
        text = hook_log.note(agent, error)
        if is_debugged():
            tell(text)


def _print_settings(invocation: Invocation, agent: str) -> int:
    from backtrail.hooks.settings import settings

    found = settings(agent, _program())
    answer = {"agent": agent, "file": found.file, "settings": found.text}
    if not invocation.json:
        invocation.note(f"This belongs into {found.file}, with what may be there already:")
    invocation.give(answer, lambda _: found.text)
    return 0


def _program() -> list[str]:
    """How to call this very installation from anywhere."""
    beside = os.path.join(os.path.dirname(sys.executable), "backtrail")
    return [beside] if os.access(beside, os.X_OK) else [sys.executable, "-m", "backtrail"]


def _options(parser: ArgumentParser) -> None:
    explained = "print what has to go into the agent's settings, and nothing else"
    parser.add_argument("--settings", action="store_true", help=explained)


COMMANDS = {
    "hook": Command(
        _hook,
        "Called by a coding agent, with what happens in it as JSON on stdin: its sessions, turns, tools and\n"
        "transcripts are recorded, with a checkpoint before and after each turn. Where the agent works in no watched\n"
        "folder, nothing is done. It never fails, prints nothing and takes a moment at most; what went wrong is in\n"
        "hooks.log beside the daemon's log.",
        "backtrail hook claude-code --settings\nbacktrail hook claude-code",
        ALWAYS_DONE,
        (Argument("agent", "AGENT", ", ".join(AGENTS), "1", choices=(*AGENTS, *ALIASES)),),
        _options,
    )
}
