"""Events of sessions. What they carry went through the redactor before; each has the phase that the session is in."""

import logging
from collections.abc import Mapping
from typing import Any

from backtrail.errors import BacktrailError
from backtraild.keeper import Keeper
from backtraild.sessions import Session, Snapshot, ToolCall, Turn

PROMPT_SHOWN = 200

_log = logging.getLogger(__name__)


def tell(
    keeper: Keeper, kind: str, session: Session, data: Mapping[str, Any], checkpoint: int | None = None
) -> None:
    """Something happened to a session, and is recorded with it: that it can't be told undoes nothing."""
    phase = {"phase": session.phase} if session.phase else {}
    try:
        keeper.tell(kind, checkpoint, session.id, {**phase, **data})
    except BacktrailError as error:
        _log.warning("%s of session %s could not be told: %s", kind, session.id, error.message)


def started(keeper: Keeper, session: Session) -> None:
    """A session that was not there before."""
    told = {"agent": session.agent, "title": session.title, "parent": session.parent}
    tell(keeper, "session_started", session, {name: value for name, value in told.items() if value})


def phase_changed(keeper: Keeper, session: Session, before: str) -> None:
    """Another phase began, if it is another one."""
    if session.phase != before:
        tell(keeper, "phase_changed", session, {"phase": session.phase, "before": before})


def turn_started(keeper: Keeper, session: Session, turn: Turn) -> None:
    """A turn began."""
    told = {"turn": turn.number, "prompt": turn.prompt[:PROMPT_SHOWN], "role": turn.role}
    tell(keeper, "turn_started", session, told, turn.before)


def turn_ended(keeper: Keeper, session: Session, turn: Turn) -> None:
    """A turn ended with a checkpoint."""
    tell(keeper, "turn_ended", session, {"turn": turn.number, "after": turn.after}, turn.after)


def tool_used(keeper: Keeper, session: Session, turn: Turn, call: ToolCall) -> None:
    """A tool was used."""
    times = {"started": call.started, "ended": call.ended}
    told = {"turn": turn.number, "name": call.name, "id": call.id}
    told |= {name: time.isoformat() for name, time in times.items() if time is not None}
    tell(keeper, "tool_used", session, told)


def conversation_saved(keeper: Keeper, session: Session, snapshot: Snapshot) -> None:
    """A conversation was recorded."""
    told = {
        "turn": snapshot.turn,
        "snapshot": snapshot.number,
        "message_count": snapshot.message_count,
        "appended": snapshot.appended,
        "redacted": dict(snapshot.redacted),
    }
    tell(keeper, "conversation_saved", session, told, snapshot.checkpoint)
