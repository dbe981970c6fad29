"""Why a checkpoint is there: the turns of sessions that led to it, gathered from what the daemon knows."""

from collections.abc import Iterator

from backtrail.cli.invocation import Invocation
from backtrail.cli.paging import gather
from backtrail.errors import UnknownSession
from backtrail.protocol import GET, OfCheckpoint
from backtrail.session_protocol import SESSION_LIST, SESSION_SHOW, SessionList, SessionShow
from backtrail.session_values import SessionSummary, Turn
from backtrail.values import Checkpoint, Value


class TurnOfSession(Value, frozen=True, kw_only=True):
    """A turn, and whose it is."""

    session: str
    agent: str
    title: str
    turn: Turn


class Explanation(Value, frozen=True, kw_only=True):
    """A checkpoint with what was asked for when it was made; several sessions may have been at work."""

    checkpoint: Checkpoint
    turns: list[TurnOfSession]


def explain(invocation: Invocation, workspace: str, name: str) -> Explanation:
    """What is known about how a checkpoint came to be."""
    checkpoint = invocation.ask(GET, OfCheckpoint(workspace=workspace, checkpoint=name))
    turns = [
        TurnOfSession(session=session.session, agent=session.agent, title=session.title, turn=turn)
        for session in _sessions(invocation, workspace)
        if at_work(session, checkpoint)
        for turn in _turns(invocation, workspace, session.session)
        if led_to(turn, session.session, checkpoint)
    ]
    return Explanation(checkpoint=checkpoint, turns=turns)


def at_work(session: SessionSummary, checkpoint: Checkpoint) -> bool:
    """Whether a session may have had a turn when the checkpoint was made."""
    if session.session == checkpoint.session:
        return True
    is_over = session.status == "ended" and session.updated < checkpoint.timestamp
    return session.created <= checkpoint.timestamp and not is_over


def led_to(turn: Turn, session: str, checkpoint: Checkpoint) -> bool:
    """Whether a checkpoint is from within a turn: made after it began, and at its end at the latest.

    A turn that was never ended may be that of an agent which is long gone: it has no part in what others saved.
    """
    if turn.after == checkpoint.number:
        return True
    begun = turn.started <= checkpoint.timestamp if turn.before is None else turn.before < checkpoint.number
    if turn.after is not None:
        return begun and checkpoint.number < turn.after
    is_open = turn.ended is None or checkpoint.timestamp <= turn.ended
    return begun and is_open and checkpoint.session in (None, session)


def _sessions(invocation: Invocation, workspace: str) -> list[SessionSummary]:
    def page(limit: int, cursor: str | None) -> tuple[list[SessionSummary], str | None]:
        found = invocation.ask(SESSION_LIST, SessionList(workspace=workspace, limit=limit, cursor=cursor))
        return found.sessions, found.next

    return gather(page, None)[0]


def _turns(invocation: Invocation, workspace: str, session: str) -> Iterator[Turn]:
    try:
        yield from invocation.ask(SESSION_SHOW, SessionShow(workspace=workspace, session=session)).turns
    except UnknownSession:
        return  # deleted a moment ago
