"""Turns of a watched folder's sessions: begun with what is on the disk, and told about."""

from collections.abc import Mapping
from typing import Any

from backtraild.conversing import telling
from backtraild.keeper import Keeper
from backtraild.model import Intent, Kind
from backtraild.sessions import ToolCall, Turn, check_session_id
from backtraild.workspace import BEFORE_TURN


def begin(
    keeper: Keeper,
    session: str,
    number: int | None = None,
    role: str = "user",
    prompt: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Turn:
    """A turn begins: what is on the disk now becomes a checkpoint if there is none of it, and is its state before."""
    check_session_id(session)
    sessions = keeper.workspace.sessions
    old = sessions.find(session)
    next_number = (1 if old is None else old.last_number + 1) if number is None else number
    name = session if old is None or not old.title else old.title
    keeper.save_changes(
        Intent(
            Kind.AGENT,
            f"Before turn {next_number} of {name}",
            session,
            next_number,
            {BEFORE_TURN: next_number},
        )
    )
    before = keeper.workspace.history.newest()
    turn = sessions.begin_turn(session, number, role, prompt, before, metadata)
    new = sessions.get(session)
    if old is None:
        telling.started(keeper, new)
    if old is None or turn.ordinal != old.open_turn:  # not one that was begun already
        telling.turn_started(keeper, new, turn)
    return turn


def tool_used(keeper: Keeper, session: str, call: ToolCall, number: int | None = None) -> Turn:
    """A tool was used in the turn under way, or in another."""
    sessions = keeper.workspace.sessions
    turn = sessions.tool_used(session, number, call)
    kept = next((one for one in reversed(turn.tools) if one.id == call.id or not call.id), None)
    if kept is not None:
        telling.tool_used(keeper, sessions.get(session), turn, kept)
    return turn
