"""Where a fork comes from and what goes on in it: actions for the workers of both folders."""

import os
from collections.abc import Mapping
from itertools import count
from typing import Any

from msgspec import Struct

from backtrail.errors import NothingToDo, UnknownTurn, UsageError
from backtrail.pathtext import to_text
from backtraild.keeper import Keeper
from backtraild.model import Checkpoint, Intent
from backtraild.registry import Registered
from backtraild.requests import Action
from backtraild.sessions import Session, Sessions, Snapshot, Turn

FORKED = "forked"  # the moment in a session's life, which names the session that was begun
NEW_SESSION = "new_session"
_NAME_LIMIT = 180  # what is left of an id for what is put behind it


class Origin(Struct, frozen=True):
    """A point to fork at: its files, and where a session led to it, what had been said by then.

    `fork` is a name for the session that goes on from there, which no fork of it has had before.
    """

    checkpoint: Checkpoint
    session: Session | None = None
    turn: int | None = None
    snapshot: Snapshot | None = None
    fork: str | None = None

    @property
    def at(self) -> str:
        """The point as text."""
        turn = "" if self.turn is None else f"turn {self.turn}, "
        return f"{turn}checkpoint {self.checkpoint.number}"


class Beginning(Struct, frozen=True):
    """What a new folder begins with: its first checkpoint, and the session that goes on."""

    checkpoint: int
    session: str | None


def find(session: str | None, turn: int | None, checkpoint: str | None) -> Action[Origin]:
    """A point by a session's last state, one of its turns, or a checkpoint."""
    if turn is not None and (session is None or checkpoint is not None):
        raise UsageError("A turn is one of a session, and stands in the place of a checkpoint.")
    if session is None and checkpoint is None:
        raise UsageError("A fork begins at a session or at a checkpoint, and neither is named.")
    if checkpoint is not None:
        return lambda keeper: _at_checkpoint(keeper, session, checkpoint)
    return lambda keeper: _at_turn(keeper, session or "", turn)


def begin(origin: Origin, git_dir: str, name: str | None) -> Action[Beginning]:
    """Begin the session that goes on in the new folder, if there is anything to go on with.

    `git_dir` is the repository of the folder that the fork comes from, and is only read.
    """
    new = name or origin.fork

    def action(keeper: Keeper) -> Beginning:
        baseline = _first_checkpoint(keeper, origin)
        if new is None:
            return Beginning(baseline, None)
        begun = _begun(keeper.workspace.sessions, origin, git_dir, new, baseline)
        told = {"agent": begun.agent, "title": begun.title, "phase": begun.phase}
        lineage = {"forked_from": begun.forked_from, "forked_at": begun.forked_at}
        keeper.tell("session_started", baseline, begun.id, _known_of({**told, **lineage}))
        return Beginning(baseline, begun.id)

    return action


def remember(origin: Origin, new: Registered, begun: Beginning) -> Action[None]:
    """Tell where the fork was made that there is one, and note it in the life of its session."""
    told: dict[str, Any] = {"turn": origin.turn, "checkpoint": origin.checkpoint.number}
    told |= {"new_workspace": new.id, "new_root": to_text(os.fsencode(new.root)), NEW_SESSION: begun.session}

    def action(keeper: Keeper) -> None:
        session = origin.session
        if session is not None:
            keeper.workspace.sessions.add_moment(session.id, FORKED, told)
        phase = {"phase": "" if session is None else session.phase}
        number = origin.checkpoint.number
        keeper.tell(
            "session_forked", number, None if session is None else session.id, _known_of({**told, **phase})
        )

    return action


def _first_checkpoint(keeper: Keeper, origin: Origin) -> int:
    """The baseline; where the folder was watched before and has its old store again, one that is made now."""
    try:
        return keeper.save(Intent(message=f"Forked at {origin.at}")).number
    except NothingToDo:
        return keeper.workspace.history.newest() or 0


def _known_of(told: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if value not in (None, "")}


def _begun(sessions: Sessions, origin: Origin, git_dir: str, new: str, baseline: int) -> Session:
    if sessions.find(new) is not None:
        raise UsageError(f"The folder's store has a session {new!r} from earlier.", "Name the new one.")
    old, shown = origin.session, origin.snapshot
    if old is None:
        return sessions.start(new, forked_at=origin.at)
    begun = sessions.start(
        new, agent=old.agent, title=old.title, phase=old.phase, forked_from=old.id, forked_at=origin.at
    )
    if shown is not None:
        sessions.copy_conversation(new, git_dir, old.id, shown, baseline)
    return begun


def _at_checkpoint(keeper: Keeper, session: str | None, name: str) -> Origin:
    checkpoint = keeper.workspace.history.find(name)
    sessions = keeper.workspace.sessions
    found = None
    if session is not None:
        found = sessions.get(session)
    elif checkpoint.session is not None:
        found = sessions.find(checkpoint.session)  # it may be deleted by now
    if found is None:
        return Origin(checkpoint)
    turn = _turn_at(sessions.turns(found.id, include_rewound=True), checkpoint.number)
    return _origin(sessions, checkpoint, found, turn)


def _at_turn(keeper: Keeper, session: str, number: int | None) -> Origin:
    sessions, history = keeper.workspace.sessions, keeper.workspace.history
    found = sessions.get(session)
    turn = _last_with_files(sessions, session) if number is None else sessions.turn(session, number)
    after = turn.after if turn is not None else _bound_to(sessions, session)
    if after is None:
        which = f"Session {session!r}" if number is None else f"Turn {number} of session {session!r}"
        raise UnknownTurn(f"{which} has no checkpoint after it.", "Fork at a checkpoint instead.")
    return _origin(sessions, history.find(str(after)), found, turn)


def _origin(sessions: Sessions, checkpoint: Checkpoint, session: Session, turn: Turn | None) -> Origin:
    return Origin(
        checkpoint,
        session,
        None if turn is None else turn.number,
        _snapshot_at(sessions, session.id, turn, checkpoint.number),
        _free_name(sessions, session),
    )


def _free_name(sessions: Sessions, session: Session) -> str:
    forks = {moment.data.get(NEW_SESSION) for moment in session.moments if moment.kind == FORKED}
    names = (f"{session.id[:_NAME_LIMIT]}-fork-{number}" for number in count(1))
    return next(name for name in names if name not in forks and sessions.find(name) is None)


def _turn_at(turns: list[Turn], checkpoint: int) -> Turn | None:
    """The turn that a checkpoint ended, be it rewound or not, or else the last one that ended before it."""
    exact = [turn for turn in turns if turn.after == checkpoint]
    before = [
        turn for turn in turns if turn.after is not None and turn.after < checkpoint and not turn.rewound
    ]
    return next(iter([*reversed(exact), *reversed(before)]), None)


def _last_with_files(sessions: Sessions, session: str) -> Turn | None:
    return next((turn for turn in reversed(sessions.turns(session)) if turn.after is not None), None)


def _bound_to(sessions: Sessions, session: str) -> int | None:
    """The checkpoint of a conversation without turns, such as that of a fork in which nothing was done yet."""
    bound = _apart_from_turns(sessions, session)
    return bound[-1].checkpoint if bound else None


def _snapshot_at(sessions: Sessions, session: str, turn: Turn | None, checkpoint: int) -> Snapshot | None:
    """What had been said after a turn, or the last turn before it of which that is known."""
    if turn is not None:
        told = [turn, *(other for other in reversed(sessions.turns(session)) if other.ordinal < turn.ordinal)]
        number = next((each.snapshot for each in told if each.snapshot is not None), None)
        if number is not None:
            return sessions.snapshot(session, number)
    bound = [shown for shown in _apart_from_turns(sessions, session) if (shown.checkpoint or 0) <= checkpoint]
    return bound[-1] if bound else None


def _apart_from_turns(sessions: Sessions, session: str) -> list[Snapshot]:
    """Conversations that belong to a checkpoint and to no turn, which could be rewound."""
    shown = sessions.snapshots(session)
    return [each for each in shown if each.turn is None and each.checkpoint is not None]
