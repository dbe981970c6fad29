"""`events`: what happened and what happens, one line for each."""

import sys
from argparse import ArgumentParser

import msgspec

from backtrail.cli import typed
from backtrail.cli.command import Command
from backtrail.cli.invocation import Invocation, tell
from backtrail.cli.parser import number
from backtrail.cli.render import event as line_of
from backtrail.cli.terminal import Screen
from backtrail.errors import UnknownWorkspace
from backtrail.protocol import STATUS, OfWorkspace
from backtrail.values import CheckpointEvent

INTERRUPTED = 130


def _events(invocation: Invocation) -> int:
    options = invocation.options
    try:
        happened = invocation.client.events(
            _workspace(invocation), since=options.since, follow=options.follow
        )
        for event in happened:
            _show(invocation, event)
    except KeyboardInterrupt:
        if not (invocation.quiet or invocation.json):
            tell("\nThe daemon goes on watching; `backtrail daemon stop` ends it.\n")
        return INTERRUPTED
    return 0


def _workspace(invocation: Invocation) -> str | None:
    """The workspace that is named, or the one of the current folder, or else all of them."""
    options = invocation.options
    if options.all:
        return None
    try:
        params = OfWorkspace(workspace=typed.workspace(options.workspace))
        return invocation.ask(STATUS, params).workspace
    except UnknownWorkspace:
        if options.workspace is not None:
            raise
        return None


def _show(invocation: Invocation, event: CheckpointEvent) -> None:
    if invocation.json:
        invocation.write_bytes(msgspec.json.encode(event) + b"\n")
    else:
        # A screen of its own for each: the window may have changed, and midnight may have passed.
        invocation.write(line_of(event, Screen.of(sys.stdout, invocation.options.colour)))


def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--since",
        metavar="SEQ",
        type=number(0),
        help="begin after the event of this number; 0 is the beginning",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--follow", action="store_true", default=True, help="wait for more (the default)")
    how.add_argument("--no-follow", dest="follow", action="store_false", help="what has happened, up to now")
    add("--all", action="store_true", help="of all workspaces, also inside one")


COMMANDS = {
    "events": Command(
        _events,
        "Follow what happens in the workspace of the current folder, or in all of them if it is in none. With --since\n"
        "or --no-follow, begin with what has happened already. Nothing is lost when the daemon is restarted meanwhile.",
        "backtrail events --json --no-follow",
        options=_options,
    )
}
