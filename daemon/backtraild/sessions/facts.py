"""What becomes of a session's facts when something happens to it. Pure: values in, values out."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from backtrail.errors import UsageError
from backtraild.sessions.model import Moment, Session, SessionStatus, Turn, check_session_id

MOMENTS_LIMIT = 200  # the newest; all of them are in the log of events


def with_moment(session: Session, kind: str, now: datetime, data: Mapping[str, Any]) -> Session:
    """Something happened that is worth remembering."""
    moments = (*session.moments, Moment(kind, now, data))[-MOMENTS_LIMIT:]
    return replace(session, moments=moments)


def in_phase(session: Session, phase: str | None, now: datetime) -> Session:
    """Another phase, if it is another one, begins now."""
    if phase is None or phase == session.phase:
        return session
    told = with_moment(session, "phase", now, {"phase": phase, "before": session.phase})
    return replace(told, phase=phase)


def resumed(session: Session, now: datetime) -> Session:
    """Somebody works in it again."""
    if session.status is SessionStatus.ENDED:
        session = with_moment(session, "resumed", now, {})
    return replace(session, status=SessionStatus.ACTIVE)


def ended(session: Session, reason: str, now: datetime) -> Session:
    """It is over, until somebody resumes it."""
    if session.status is not SessionStatus.ENDED:
        session = with_moment(session, "ended", now, {"reason": reason} if reason else {})
    return replace(session, status=SessionStatus.ENDED, open_turn=None)


def counted(session: Session, redacted: Counter[str]) -> Session:
    """With what was taken out of its texts."""
    return replace(session, redacted=dict(Counter(session.redacted) + redacted)) if redacted else session


def interrupted(turn: Turn, now: datetime) -> Turn:
    """A turn that nobody ended."""
    return replace(turn, ended=now, interrupted=True)


def check_lineage(session: str, parent: str | None, forked_from: str | None) -> None:
    """Refuse ancestors that can't be ones."""
    for other in (parent, forked_from):
        if other is not None:
            check_session_id(other)
            if other == session:
                raise UsageError(f"Session {session!r} can't come from itself.")
