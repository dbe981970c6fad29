"""Messages of a conversation, so many at a time that they fit into one answer."""

from collections.abc import Iterable

from backtrail.errors import UnknownTurn, UsageError
from backtraild.conversing.model import Excerpt
from backtraild.sessions import Session, Snapshot
from backtraild.workspace import Workspace

PAGE_BYTES = 4 * 1024 * 1024
TAIL_MESSAGES = 1000

_NOTHING = Excerpt(None, 0, 0, ())


def page(
    workspace: Workspace, session: str, turn: int | None, snapshot: int | None, start: int, limit: int
) -> Excerpt:
    """Messages as they are now, were after a turn, or are in a snapshot; a negative start counts from the end.

    There is at least one where there are any, and no more than fit.
    """
    if turn is not None and snapshot is not None:
        raise UsageError("A conversation is named by a turn or by a snapshot, not by both.")
    found = _snapshot(workspace, workspace.sessions.get(session), turn, snapshot)
    if found is None:
        return _NOTHING
    first = min(found.message_count, start if start >= 0 else max(0, found.message_count + start))
    lines = workspace.sessions.conversation(
        session, snapshot=found.number, start=first, stop=min(first + limit, found.message_count)
    )
    return Excerpt(found.number, first, found.message_count, _fitting(lines))


def tail(workspace: Workspace, session: str, snapshot: int | None) -> Excerpt:
    """The last messages of a snapshot, as many as fit."""
    if snapshot is None:
        return _NOTHING
    count = workspace.sessions.snapshot(session, snapshot).message_count
    start = max(0, count - TAIL_MESSAGES)
    lines = list(workspace.sessions.conversation(session, snapshot=snapshot, start=start))
    left = PAGE_BYTES
    kept = len(lines)
    while kept and len(lines[kept - 1]) <= left:
        kept -= 1
        left -= len(lines[kept])
    return Excerpt(snapshot, start + kept, count, tuple(lines[kept:]))


def _snapshot(
    workspace: Workspace, session: Session, turn: int | None, snapshot: int | None
) -> Snapshot | None:
    number = session.snapshot if snapshot is None else snapshot
    if turn is not None:
        number = workspace.sessions.turn(session.id, turn).snapshot
        if number is None:
            raise UnknownTurn(
                f"No conversation was recorded for turn {turn} of session {session.id!r}.",
                "It can be attached to the turn later.",
            )
    return None if number is None else workspace.sessions.snapshot(session.id, number)


def _fitting(lines: Iterable[bytes]) -> tuple[bytes, ...]:
    taken: list[bytes] = []
    size = 0
    for line in lines:
        size += len(line)
        if taken and size > PAGE_BYTES:
            break
        taken.append(line)
    return tuple(taken)
