"""Sessions begun, changed, ended and let go, with the events of that."""

from collections.abc import Mapping, Sequence
from typing import Any

from backtraild.conversing import telling
from backtraild.conversing.model import DeletedSession, SessionView
from backtraild.keeper import Keeper
from backtraild.sessions import Session, SessionStatus


def start(
    keeper: Keeper,
    session: str,
    *,
    agent: str | None = None,
    title: str | None = None,
    phase: str | None = None,
    parent: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    follows: Sequence[str] | None = None,
) -> Session:
    """Begin a session, or go on with the one there is; what is given is taken over."""
    sessions = keeper.workspace.sessions
    old = sessions.find(session)
    new = sessions.start(
        session, agent=agent, title=title, phase=phase, parent=parent, metadata=metadata, follows=follows
    )
    if old is None:
        telling.started(keeper, new)
    _tell_changes(keeper, old or Session(session, new.created, new.created), new, is_new=old is None)
    return new


def update(
    keeper: Keeper,
    session: str,
    *,
    title: str | None = None,
    phase: str | None = None,
    status: SessionStatus | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Session:
    """Change what is known of a session."""
    sessions = keeper.workspace.sessions
    old = sessions.get(session)
    new = sessions.update(session, title=title, phase=phase, status=status, metadata=metadata)
    _tell_changes(keeper, old, new, is_new=False)
    return new


def end(keeper: Keeper, session: str, reason: str = "") -> Session:
    """The conversation is over."""
    sessions = keeper.workspace.sessions
    old = sessions.get(session)
    new = sessions.end(session, reason)
    _tell_changes(keeper, old, new, is_new=False)
    return new


def view(keeper: Keeper, session: str, *, rewound: bool = True) -> SessionView:
    """A session with its turns and snapshots."""
    sessions = keeper.workspace.sessions
    return SessionView(
        sessions.get(session),
        tuple(sessions.turns(session, include_rewound=rewound)),
        tuple(sessions.snapshots(session)),
    )


def delete(keeper: Keeper, session: str) -> DeletedSession:
    """Let go of a session and its conversation; the checkpoints that were made for it are left to retention."""
    workspace = keeper.workspace
    workspace.sessions.delete(session)
    workspace.rubbish.leave()
    made = workspace.checkpoints_of(session)
    for number in made:
        workspace.unpin(str(number))
    keeper.tell("session_deleted", None, session, {"checkpoints": len(made)})
    return DeletedSession(session, made)


def _tell_changes(keeper: Keeper, old: Session, new: Session, *, is_new: bool) -> None:
    telling.phase_changed(keeper, new, old.phase)
    if old.status is not new.status:
        if new.status is SessionStatus.ENDED:
            telling.tell(keeper, "session_ended", new, dict(new.moments[-1].data))
        elif old.status is SessionStatus.ENDED:
            telling.tell(keeper, "session_resumed", new, {})
    told = {"agent": new.agent, "title": new.title, "status": new.status.value}
    if not is_new and (old.agent, old.title, old.metadata) != (new.agent, new.title, new.metadata):
        telling.tell(keeper, "session_updated", new, told)
