"""`list`: checkpoints, newest first."""

from argparse import ArgumentParser
from typing import TypeVar

from msgspec.structs import replace

from backtrail.cli import render, typed
from backtrail.cli.command import Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import number
from backtrail.protocol import LIST, LIST_SUMMARIES, STATUS, List, Method, OfWorkspace
from backtrail.values import CheckpointPage, SummaryPage

KINDS = ("baseline", "auto", "manual", "pre_restore", "restore", "agent")
_SHOWN = 50

_Page = TypeVar("_Page", CheckpointPage, SummaryPage)


def _list(invocation: Invocation) -> int:
    options = invocation.options
    workspace = typed.workspace(options.workspace)
    params = List(
        workspace=workspace,
        limit=options.number,
        since=options.since and typed.text(options.since),
        until=options.until and typed.text(options.until),
        path=_path(invocation, workspace),
        session=options.session and typed.text(options.session),
        kind=options.kind,
        files=options.files,
    )
    page: CheckpointPage | SummaryPage
    page = _all(invocation, LIST, params) if options.files else _all(invocation, LIST_SUMMARIES, params)
    invocation.give_long(page, lambda screen: render.checkpoint_list(page, screen))
    return 0


def _all(invocation: Invocation, method: Method[List, _Page], params: List) -> _Page:
    """As many as were asked for, which may be more than the daemon gives at once."""
    page: _Page = invocation.ask(method, params)
    while page.next is not None and len(page.checkpoints) < params.limit:
        missing = params.limit - len(page.checkpoints)
        more: _Page = invocation.ask(method, replace(params, cursor=page.next, limit=missing))
        page = replace(more, checkpoints=[*page.checkpoints, *more.checkpoints])
    return page


def _path(invocation: Invocation, workspace: str) -> str | None:
    """The path that the root must be known for; the root itself is no restriction."""
    if invocation.options.path is None:
        return None
    root = invocation.ask(STATUS, OfWorkspace(workspace=workspace)).root
    found = typed.paths_in(root, [invocation.options.path])
    return found[0] if found else None


def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "-n",
        "--number",
        metavar="N",
        type=number(1),
        default=_SHOWN,
        help=f"at most so many (default: {_SHOWN})",
    )
    add("--since", metavar="TIME", help="made at that time or later, as in '2 hours ago' or 14:03")
    add("--until", metavar="TIME", help="made at that time or earlier")
    add("--path", metavar="PATH", help="that changed this file, or something in this folder")
    add("--session", metavar="ID", help="of this conversation")
    add("--kind", metavar="KIND", choices=KINDS, help="of this kind: " + ", ".join(KINDS))
    add("--files", action="store_true", help="with the files that each of them changed")


COMMANDS = {
    "list": Command(
        _list,
        "List checkpoints, newest first.",
        "backtrail list -n 5 --path src --since '2 hours ago'",
        options=_options,
    )
}
