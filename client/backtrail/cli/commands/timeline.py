"""`timeline`: what happened in a workspace, in order, and what happens."""

import sys
from argparse import ArgumentParser
from collections import deque
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from backtrail.cli import typed
from backtrail.cli.command import Command
from backtrail.cli.commands.events import INTERRUPTED
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import number
from backtrail.cli.render import history as texts
from backtrail.cli.terminal import Screen
from backtrail.protocol import MAX_LIST, STATUS, OfWorkspace
from backtrail.session_protocol import TIMELINE, AskTimeline
from backtrail.session_values import HistoryEvent, Timeline

TYPES = ("task", "chat", "checkpoint", "phase", "file")


def _timeline(invocation: Invocation) -> int:
    options = invocation.options
    params = _asked(invocation)
    if options.follow:
        return _follow(invocation, params)
    if options.cursor is not None:
        found = invocation.ask(TIMELINE, replace(params, limit=min(options.number or MAX_LIST, MAX_LIST)))
    else:
        found = _last(invocation, params)
    # Where only the last ones are wanted, the beginning of the log is not in sight.
    is_cut = options.cursor is not None or len(found.events) == options.number
    first = 1 if is_cut else found.first
    invocation.give_long(found, lambda screen: texts.timeline(found.events, screen, first))
    return 0


def _asked(invocation: Invocation) -> AskTimeline:
    options = invocation.options
    workspace = invocation.ask(STATUS, OfWorkspace(workspace=typed.workspace(options.workspace)))
    # The root itself is no restriction.
    paths = [] if options.path is None else typed.paths_in(workspace.root, [options.path])
    return AskTimeline(
        workspace=workspace.workspace,
        type=options.type,
        session=options.session and typed.text(options.session),
        phase=options.phase and typed.text(options.phase),
        since=options.since and typed.text(options.since),
        until=options.until and typed.text(options.until),
        path=paths[0] if paths else None,
        limit=MAX_LIST,
        cursor=options.cursor,
    )


def _last(invocation: Invocation, params: AskTimeline) -> Timeline:
    """The last ones that were asked for, or all of them."""
    found: deque[HistoryEvent] = deque(maxlen=invocation.options.number)
    first = 1
    for page in _pages(invocation, params):
        found += page.events
        first = page.first
    return Timeline(events=list(found), first=first)


def _pages(invocation: Invocation, params: AskTimeline) -> Iterator[Timeline]:
    """Everything from a place on."""
    while True:
        page = invocation.ask(TIMELINE, params)
        yield page
        if page.next is None:
            return
        params = replace(params, cursor=page.next)


def _follow(invocation: Invocation, params: AskTimeline) -> int:
    """What was, then what comes: each event in the stream is the sign to ask for what is new."""
    try:
        # The place is taken before anything is read: what happens meanwhile is read again, and not lost.
        end = invocation.client.ping().seq
        for one in _last(invocation, params).events:
            end = max(end, one.seq)
            _show(invocation, one)
        for event in invocation.client.events(params.workspace, since=end):
            for page in _pages(invocation, replace(params, cursor=end)) if event.seq > end else ():
                for one in page.events:
                    end = max(end, one.seq)
                    _show(invocation, one)
            end = max(end, event.seq)
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _show(invocation: Invocation, one: HistoryEvent) -> None:
    if invocation.json:
        invocation.write_bytes(msgspec.json.encode(one) + b"\n")
    else:
        # A screen of its own for each: midnight may have passed.
        invocation.write(texts.history_event(one, Screen.of(sys.stdout, invocation.options.colour)))


def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--type", metavar="TYPE", choices=TYPES, help="only of this type: " + ", ".join(TYPES))
    add("--session", metavar="ID", help="only of this conversation")
    add("--phase", metavar="PHASE", help="only in this phase of a conversation")
    add("--since", metavar="TIME", help="only at that time or later, as in '2 hours ago' or 14:03")
    add("--until", metavar="TIME", help="only at that time or earlier")
    add("--path", metavar="PATH", help="only what changed this file, or something in this folder")
    add("-n", "--number", metavar="N", type=number(1), help="only the last so many (default: all)")
    add("--follow", action="store_true", help="go on with what happens, until Ctrl-C")
    explained = "a page of at most N from this place on; `next` of the JSON is that of the page after it"
    add("--cursor", metavar="PLACE", type=number(0), help=explained)


COMMANDS = {
    "timeline": Command(
        _timeline,
        "Show what happened in a workspace, oldest first: tasks (sessions begun, ended, forked), chat (turns and what\n"
        "was said), checkpoints, phases; with --type file or --path also every file that changed. With --follow and\n"
        "--json, one object a line.",
        "backtrail timeline --session fix-login --since yesterday\nbacktrail timeline --type file --path src --follow",
        options=_options,
    )
}
