"""`status`, `pause`, `resume-watching`: how a workspace is doing, and whether it makes checkpoints by itself."""

from backtrail.cli import render, typed
from backtrail.cli.command import Command
from backtrail.cli.invocation import Invocation
from backtrail.protocol import PAUSE, RESUME_WATCHING, STATUS, Method, OfWorkspace
from backtrail.values import WorkspaceStatus


def _status(invocation: Invocation) -> int:
    return _ask(invocation, STATUS)


def _pause(invocation: Invocation) -> int:
    return _ask(invocation, PAUSE)


def _resume_watching(invocation: Invocation) -> int:
    return _ask(invocation, RESUME_WATCHING)


def _ask(invocation: Invocation, method: Method[OfWorkspace, WorkspaceStatus]) -> int:
    found = invocation.ask(method, OfWorkspace(workspace=typed.workspace(invocation.options.workspace)))
    invocation.give(found, lambda screen: render.status(found, screen))
    return 0


COMMANDS = {
    "status": Command(
        _status,
        "Tell how a workspace is doing: watching, scanning, paused or degraded, and then why and what to do;\n"
        "what is pending, what was skipped, and how much room the checkpoints take.",
        "backtrail status",
    ),
    "pause": Command(
        _pause,
        "Stop making checkpoints automatically; `backtrail save` still makes one. Changes made meanwhile are in\n"
        "the first checkpoint after `backtrail resume-watching`.",
        "backtrail pause",
    ),
    "resume-watching": Command(
        _resume_watching, "Make checkpoints automatically again.", "backtrail resume-watching"
    ),
}
