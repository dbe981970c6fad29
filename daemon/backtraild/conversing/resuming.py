"""All that is needed to go on with a session: what was said, what was done, how the disk differs from it."""

from backtrail.errors import UnknownCheckpoint, UnknownTurn
from backtraild.conversing import excerpts, lifecycle, telling
from backtraild.conversing.model import Resumption, SessionView
from backtraild.keeper import Keeper
from backtraild.model import Checkpoint, FileChange, Path, Status
from backtraild.sessions import SessionStatus, Turn
from backtraild.workspace import Workspace


def resume(keeper: Keeper, session: str, name: str | None = None) -> Resumption:
    """From the session's last state, or from that of the turn that a checkpoint of it belongs to."""
    workspace = keeper.workspace
    seen = lifecycle.view(keeper, session)
    if name is None:
        turn = next((one for one in reversed(seen.turns) if not one.rewound), None)
        checkpoint = _last_state(workspace, seen)
        snapshot = seen.session.snapshot
    else:
        checkpoint = workspace.history.find(name)
        turn = _turn_at(seen, checkpoint)
        snapshot = turn.snapshot
    added, modified, deleted = _differences(workspace, checkpoint)
    _go_on(keeper, session, turn)
    return Resumption(
        view=lifecycle.view(keeper, session),
        last_turn=turn,
        interrupted=turn is not None and (turn.ended is None or turn.interrupted),
        checkpoint=checkpoint,
        added=added,
        modified=modified,
        deleted=deleted,
        conversation=excerpts.tail(workspace, session, snapshot),
    )


def _go_on(keeper: Keeper, session: str, turn: Turn | None) -> None:
    """Somebody works in it again."""
    sessions = keeper.workspace.sessions
    told = {} if turn is None else {"turn": turn.number}
    sessions.update(session, status=SessionStatus.ACTIVE)
    resumed = sessions.add_moment(session, "resumed", told)
    telling.tell(keeper, "session_resumed", resumed, told)


def _last_state(workspace: Workspace, seen: SessionView) -> Checkpoint | None:
    """The newest checkpoint that is left of those in which the session's turns ended, or at which they began."""
    for turn in reversed(seen.turns):
        for number in () if turn.rewound else (turn.after, turn.before):
            try:
                if number is not None:
                    return workspace.history.find(str(number))
            except UnknownCheckpoint:  # deleted, or let go by retention
                continue
    made = workspace.checkpoints_of(seen.session.id)
    return workspace.history.find(str(made[-1])) if made else None


def _turn_at(seen: SessionView, checkpoint: Checkpoint) -> Turn:
    """The turn that ended with a checkpoint, or else in which it was made."""
    number = checkpoint.number
    for turn in reversed(seen.turns):
        if turn.after == number:
            return turn
    for turn in reversed(seen.turns):
        is_over = turn.after is not None and turn.after < number
        if turn.before is not None and turn.before <= number and not is_over:
            return turn
    raise UnknownTurn(
        f"Checkpoint {number} was made in no turn of session {seen.session.id!r}.",
        f"`backtrail list --session {seen.session.id}` shows the checkpoints of the session.",
    )


def _differences(
    workspace: Workspace, checkpoint: Checkpoint | None
) -> tuple[tuple[Path, ...], tuple[Path, ...], tuple[Path, ...]]:
    """Paths on the disk that are not in a checkpoint, or differ, and those that are only in it."""
    files: tuple[FileChange, ...] = ()
    if checkpoint is not None:
        files = workspace.history.diff(str(checkpoint.number), text=False).files
    added = {file.path for file in files if file.status in (Status.ADDED, Status.RENAMED)}
    modified = {file.path for file in files if file.status in (Status.MODIFIED, Status.MODE)}
    deleted = {file.path for file in files if file.status is Status.DELETED}
    deleted |= {file.old_path for file in files if file.status is Status.RENAMED and file.old_path}
    return tuple(sorted(added)), tuple(sorted(modified)), tuple(sorted(deleted))
