"""`session list`, `show`, `history`, `export`, `delete`: conversations, looked at and let go."""

import sys
from argparse import ArgumentParser
from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from backtrail.cli import typed
from backtrail.cli.command import FILE, OF_WORKSPACE, SESSION, Argument, Command
from backtrail.cli.confirming import confirm
from backtrail.cli.exporting import write_file
from backtrail.cli.invocation import Invocation
from backtrail.cli.paging import gather
from backtrail.cli.parser import number
from backtrail.cli.render import sessions as texts
from backtrail.cli.words import count
from backtrail.protocol import MAX_LIST, Method
from backtrail.session_protocol import (
    SESSION_DELETE,
    SESSION_LIST,
    SESSION_SHOW,
    OfSession,
    ReadConversation,
    SessionList,
    SessionShow,
)
from backtrail.session_values import Session, SessionPage, SessionSummary
from backtrail.values import Value

STATUSES = ("active", "idle", "ended")
_SHOWN = 50


class _Lines(Value, frozen=True, kw_only=True):
    """Messages as they came over the wire: whoever only hands them on need not understand them."""

    snapshot: int | None
    start: int
    message_count: int
    messages: list[msgspec.Raw]


_CONVERSATION = Method("conversation", ReadConversation, _Lines, repeatable=True)


def _list(invocation: Invocation) -> int:
    options = invocation.options
    params = SessionList(
        workspace=typed.workspace(options.workspace),
        status=options.status,
        agent=options.agent and typed.text(options.agent),
        parent=options.parent and typed.text(options.parent),
    )

    def page(limit: int, cursor: str | None) -> tuple[list[SessionSummary], str | None]:
        found = invocation.ask(SESSION_LIST, replace(params, limit=limit, cursor=cursor))
        return found.sessions, found.next

    sessions, rest = gather(page, options.number)
    result = SessionPage(sessions=sessions, next=rest)
    invocation.give_long(result, lambda screen: texts.session_list(result, screen))
    return 0


def _show(invocation: Invocation) -> int:
    found = _session(invocation)
    invocation.give_long(found, lambda screen: texts.session(found, screen))
    return 0


def _history(invocation: Invocation) -> int:
    """The whole of it is one JSON document, or one text for the pager; in a pipe, page after page is written."""
    options = invocation.options
    pages = _pages(invocation, options.turn, 0 if options.number is None else -options.number)
    if invocation.json:
        invocation.give(_document(invocation, list(pages)), lambda _: "")
        return 0
    shown = (texts.messages(_decoded(page), page.start, invocation.screen) for page in pages)
    if sys.stdout.isatty():
        invocation.give_long(None, lambda _: "".join(shown) or "Nothing was said yet.")
        return 0
    for text in shown:
        invocation.write(text)
    return 0


def _document(invocation: Invocation, pages: list[_Lines]) -> dict[str, object]:
    """All messages that were asked for; `message_count` is how many there are in the whole conversation."""
    said = [message for page in pages for message in page.messages]
    first, turn = pages[0], invocation.options.turn
    facts = {"session": _id(invocation), "start": first.start, "message_count": first.message_count}
    return {**facts, "messages": said} if turn is None else {**facts, "turn": turn, "messages": said}


def _export(invocation: Invocation) -> int:
    lines = _exported(invocation)
    if invocation.options.file is None:
        for line in lines:
            invocation.write_bytes(line)
        return 0
    written, size = write_file(invocation.options.file, lines)
    told = {"session": _id(invocation), "file": typed.absolute(invocation.options.file)}
    answer = {**told, "messages": written - 1, "bytes": size}
    invocation.give(
        answer, lambda screen: f"{screen.folder(told['file'])} has {count(written - 1, 'message')}."
    )
    return 0


def _delete(invocation: Invocation) -> int:
    if not invocation.options.yes:
        found = _session(invocation)
        messages = found.snapshots[-1].message_count if found.snapshots else 0
        what = f"the session {found.session} with {count(len(found.turns), 'turn')} and {count(messages, 'message')}"
        confirm(invocation, f"Delete {what} for ever?", f"This would delete {what} for ever.")
    gone = invocation.ask(
        SESSION_DELETE, OfSession(workspace=_workspace(invocation), session=_id(invocation))
    )
    invocation.give(gone, lambda screen: texts.session_deleted(gone, screen))
    return 0


def _session(invocation: Invocation) -> Session:
    return invocation.ask(
        SESSION_SHOW, SessionShow(workspace=_workspace(invocation), session=_id(invocation))
    )


def _exported(invocation: Invocation) -> Iterator[bytes]:
    """The session first, then its messages: each is one line."""
    yield msgspec.json.encode(_session(invocation)) + b"\n"
    for page in _pages(invocation, None, 0):
        yield from (bytes(message) + b"\n" for message in page.messages)


def _pages(invocation: Invocation, turn: int | None, start: int) -> Iterator[_Lines]:
    """Messages from a place on; a page is as long as the daemon likes, and all are of the same snapshot."""
    params = ReadConversation(
        workspace=_workspace(invocation), session=_id(invocation), turn=turn, start=start, limit=MAX_LIST
    )
    while True:
        page = invocation.ask(_CONVERSATION, params)
        yield page
        end = page.start + len(page.messages)
        if not page.messages or end >= page.message_count:
            return
        params = replace(params, turn=None, snapshot=page.snapshot, start=end)


def _decoded(page: _Lines) -> list[object]:
    return [msgspec.json.decode(message) for message in page.messages]


def _id(invocation: Invocation) -> str:
    return typed.text(invocation.options.session)


def _workspace(invocation: Invocation) -> str:
    return typed.workspace(invocation.options.workspace)


def _list_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    how_many = f"at most so many (default: {_SHOWN})"
    add("-n", "--number", metavar="N", type=number(1), default=_SHOWN, help=how_many)
    add("--status", metavar="STATUS", choices=STATUSES, help="only those that are " + ", ".join(STATUSES))
    add("--agent", metavar="NAME", help="only those of this agent")
    add("--parent", metavar="ID", help="only those that are part of this session")


def _history_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--turn", metavar="N", type=number(0), help="as it was after this turn (default: as it is now)")
    add("-n", "--number", metavar="N", type=number(1), help="only the last so many (default: all)")


def _delete_options(parser: ArgumentParser) -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


_ONE = Argument("session", "SESSION", "the id of a conversation", "1", SESSION)

COMMANDS = {
    "session list": Command(
        _list,
        "List the conversations of a workspace, the last used first.",
        "backtrail session list --status active",
        options=_list_options,
    ),
    "session show": Command(
        _show,
        "Show what is known of a conversation, and its turns: what was asked, which tools were used, and the\n"
        "checkpoints before and after each.",
        "backtrail session show fix-login",
        arguments=(_ONE,),
    ),
    "session history": Command(
        _history,
        "Show what was said, oldest first. Secrets were taken out before it was stored.",
        "backtrail session history fix-login --turn 4",
        arguments=(_ONE,),
        options=_history_options,
    ),
    "session export": Command(
        _export,
        "Write a conversation as lines of JSON: first one with all that `session show` tells, then one for each\n"
        "message, as it was recorded. Without FILE, they are printed; FILE is replaced as a whole, or not at all.",
        "backtrail session export fix-login fix-login.jsonl",
        OF_WORKSPACE,
        (_ONE, Argument("file", "FILE", "where to write it (default: stdout)", "?", FILE)),
    ),
    "session delete": Command(
        _delete,
        "Delete a conversation for ever: its messages, its turns, and all that is known of it. Its checkpoints are\n"
        "left to retention. Asks first, unless --yes is given.",
        "backtrail session delete fix-login --yes",
        (*OF_WORKSPACE, 13),
        (_ONE,),
        _delete_options,
    ),
}
