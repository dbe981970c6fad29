"""A checkpoint with the turn that it ends and what was said in it.

The checkpoint comes first. Whatever becomes of the rest, it stands; what failed is in the answer and in the log of
events, and can be attached later. Asked again under the same request's id, what was done is not done twice, and
what was not done is done.
"""

import logging
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from backtrail.errors import BacktrailError, UsageError
from backtraild.conversing import describing, telling
from backtraild.conversing.model import Talk
from backtraild.keeper import Keeper
from backtraild.model import Checkpoint, Intent
from backtraild.sessions import Session, Snapshot, SnapshotType, Turn, check_number, check_session_id
from backtraild.transcripts import Recorded, Source

_log = logging.getLogger(__name__)


def save(
    keeper: Keeper, intent: Intent, talk: Talk, *, allow_empty: bool = False, full: bool = False
) -> Checkpoint:
    """A checkpoint of everything written before the call; with a session, the state after a turn of it.

    Such a turn has its checkpoint even if it changed no file. Without a number, it is the turn under way.
    """
    if intent.session is None:
        if talk != Talk():
            raise UsageError("What was said belongs to a session, and none is named.", "Name the session.")
        return keeper.save(intent, allow_empty=allow_empty, full=full)
    check_session_id(intent.session)
    check_number("A turn's number", intent.turn)
    newest = keeper.workspace.history.newest()
    checkpoint = keeper.save(_cleaned(keeper, _placed(keeper, intent, talk)), allow_empty=True, full=full)
    try:
        _bind(keeper, checkpoint, intent, talk, newest)
    except Exception as error:  # the checkpoint is made, whatever is wrong with the session or its transcript
        return replace(checkpoint, conversation_error=_told(keeper, checkpoint, error))
    return describing.described(keeper.workspace, checkpoint)


def attach(
    keeper: Keeper,
    session: str,
    source: Source,
    type: SnapshotType,  # noqa: A002 - the word for it everywhere
    turn: int | None,
    checkpoint: str | None,
    metadata: Mapping[str, Any] | None,
) -> Snapshot:
    """Record a conversation by itself, bound to a turn and a checkpoint if they are named."""
    workspace = keeper.workspace
    number = None if checkpoint is None else workspace.history.find(checkpoint).number
    old = workspace.sessions.find(session)
    if turn is not None:
        workspace.sessions.turn(session, turn)
    snapshot = workspace.sessions.record_conversation(session, source, type, turn, number, metadata)
    new = workspace.sessions.get(session)
    if old is None:
        telling.started(keeper, new)
    telling.conversation_saved(keeper, new, snapshot)
    return snapshot


def _placed(keeper: Keeper, intent: Intent, talk: Talk) -> Intent:
    """With the number of the turn that it ends, and the phase it is made in, as far as these can be known."""
    session = _known(keeper, intent.session or "")
    phase = talk.phase or ("" if session is None else session.phase)
    metadata = {"phase": phase, **intent.metadata} if phase else intent.metadata
    return replace(intent, turn=_number(keeper, session, intent, talk), metadata=metadata)


def _known(keeper: Keeper, session: str) -> Session | None:
    try:
        return keeper.workspace.sessions.find(session)
    except BacktrailError:  # it is told once the checkpoint is made
        return None


def _number(keeper: Keeper, session: Session | None, intent: Intent, talk: Talk) -> int | None:
    """Which turn a save ends: the one that is named, else the one under way, else a new one if it was prompted."""
    if intent.turn is not None:
        return intent.turn
    if session is not None and session.open_turn is not None:
        last = keeper.workspace.sessions.last_turn(session.id)
        return None if last is None else last.number
    if talk.prompt is None:
        return None
    return 1 if session is None else session.last_number + 1


def _cleaned(keeper: Keeper, intent: Intent) -> Intent:
    """What an agent says of a checkpoint may hold what was said to it."""
    redactor = keeper.workspace.redactor
    try:
        message = None if intent.message is None else redactor.text(intent.message)[0]
        return replace(intent, message=message, metadata=redactor.value(dict(intent.metadata))[0])
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"The metadata can't be written as JSON: {error}.") from error


def _bind(keeper: Keeper, checkpoint: Checkpoint, intent: Intent, talk: Talk, newest: int | None) -> None:
    """Let the session know of its checkpoint: the turn that it ended, and what was said by then."""
    session = _begun(keeper, checkpoint, talk)
    said = None
    try:
        said = _kept(keeper, session, checkpoint, talk)
    finally:  # the turn has ended, whatever is wrong with the transcript
        if checkpoint.turn is not None:
            _end_turn(keeper, session, checkpoint, talk, said, newest, intent.metadata)
    if said is not None:
        sessions = keeper.workspace.sessions
        snapshot = sessions.bind_conversation(
            session.id, said, SnapshotType.CHECKPOINT, checkpoint.turn, checkpoint.number, intent.metadata
        )
        telling.conversation_saved(keeper, session, snapshot)


def _kept(keeper: Keeper, session: Session, checkpoint: Checkpoint, talk: Talk) -> Recorded | None:
    """What was said, in the store; None if there is nothing, or it was bound when the same was asked before."""
    sessions = keeper.workspace.sessions
    if talk.conversation is None or sessions.said_by(session.id, checkpoint.number) is not None:
        return None
    return sessions.keep_conversation(session.id, talk.conversation)


def _begun(keeper: Keeper, checkpoint: Checkpoint, talk: Talk) -> Session:
    sessions, name = keeper.workspace.sessions, checkpoint.session or ""
    old = sessions.find(name)
    told = any(value is not None for value in (talk.agent, talk.title, talk.phase))
    if old is not None and not told:
        return old
    new = sessions.start(name, agent=talk.agent, title=talk.title, phase=talk.phase)
    if old is None:
        telling.started(keeper, new)
    telling.phase_changed(keeper, new, "" if old is None else old.phase)
    return new


def _end_turn(
    keeper: Keeper,
    session: Session,
    checkpoint: Checkpoint,
    talk: Talk,
    said: Recorded | None,
    newest: int | None,
    metadata: Mapping[str, Any],
) -> None:
    sessions = keeper.workspace.sessions
    if sessions.turn_ended_by(session.id, checkpoint.number) is not None:
        return  # asked again
    last = sessions.last_turn(session.id)
    if last is None or last.number != checkpoint.turn:
        before = newest if last is None or last.after is None else last.after
        _begin_turn(keeper, session, checkpoint, talk, said, before)
    turn = sessions.end_turn(
        session.id, checkpoint.turn, after=checkpoint.number, metadata=metadata, tools=talk.tools
    )
    telling.turn_ended(keeper, session, turn)


def _begin_turn(
    keeper: Keeper,
    session: Session,
    checkpoint: Checkpoint,
    talk: Talk,
    said: Recorded | None,
    before: int | None,
) -> Turn:
    """A turn of which nobody told when it began. Who tells only what was said has told what was asked, too."""
    sessions, prompt = keeper.workspace.sessions, talk.prompt
    if prompt is None and said is not None and checkpoint.turn is not None:
        prompt = sessions.asked(session, said, checkpoint.turn)
    turn = sessions.begin_turn(session.id, checkpoint.turn, talk.role or "user", prompt or "", before)
    telling.turn_started(keeper, session, turn)
    return turn


def _told(keeper: Keeper, checkpoint: Checkpoint, error: Exception) -> str:
    """Say what failed, as an event as well, if that can be had."""
    known = isinstance(error, BacktrailError)
    reason = error.message if isinstance(error, BacktrailError) else f"{type(error).__name__}: {error}"
    told, _ = keeper.workspace.redactor.text(reason)
    _log.warning(
        "checkpoint %d is without its conversation: %s",
        checkpoint.number,
        told,
        exc_info=None if known else error,
    )
    data = {"reason": f"Checkpoint {checkpoint.number} is without its conversation: {told}"}
    try:
        keeper.tell("error", checkpoint.number, checkpoint.session, data)
    except BacktrailError as failure:
        _log.warning("nobody could be told of it: %s", failure.message)
    return told
