"""Going back to a turn of a session, and undoing that, with what is left of the conversation in the answer."""

from collections.abc import Sequence

from backtrail.errors import PlanChanged, UsageError
from backtrail.pathtext import from_text
from backtraild.conversing import excerpts, telling
from backtraild.conversing.model import Restoration, RewindResult
from backtraild.keeper import Keeper
from backtraild.model import Checkpoint, Path
from backtraild.sessions import Turn
from backtraild.workspace import RestoreResult, Rewind, RewindNote, RewindPlan, Scope, Workspace, note_of

CONTENTS_LIMIT = 24 * 1024 * 1024  # more would not fit into an answer


def rewind(
    keeper: Keeper,
    wanted: Rewind,
    *,
    confirm: bool = False,
    plan: str | None = None,
    contents: bool = False,
    request: str | None = None,
) -> RewindResult:
    """Go back to right after a turn, or right before one; unconfirmed, it only tells what it would do."""
    workspace = keeper.workspace
    done = workspace.restored_for(request) if confirm and request is not None else None
    if done is not None:
        return _told_again(workspace, done, request or "", contents)
    planned = workspace.plan_rewind(wanted)
    if confirm and plan is not None and plan != planned.note.plan:
        raise PlanChanged(
            f"Something has changed since the rewind of session {wanted.session!r} was planned; nothing was done.",
            "Ask again what it would do, and confirm that.",
        )
    if not confirm or not planned.does_something:
        needed = planned.does_something
        return _answer(workspace, planned.note, planned.checkpoint, planned.files, contents, needed=needed)
    done = _carried_out(keeper, planned, request)
    return _answer(workspace, _note(done) or planned.note, planned.checkpoint, done, contents)


def restore(
    keeper: Keeper,
    name: str,
    paths: Sequence[Path] = (),
    *,
    scope: Scope,
    dry_run: bool = False,
    request: str | None = None,
) -> RestoreResult:
    """Bring back the conversation, and the files if they are wanted, of the turn that a checkpoint belongs to."""
    if paths:
        raise UsageError("A conversation goes back as a whole, and not for single paths.")
    workspace = keeper.workspace
    done = workspace.restored_for(request) if request is not None and not dry_run else None
    if done is not None:
        return done
    checkpoint = workspace.history.find(name)
    session, turn = _turn_of(workspace, checkpoint)
    before = turn.after != checkpoint.number
    planned = workspace.plan_rewind(Rewind(session, turn.number, before, scope))
    if dry_run or not planned.does_something:
        nothing = RestoreResult(checkpoint, None, None, (), (), workspace.files, (), dry_run)
        return planned.files or nothing
    return _carried_out(keeper, planned, request)


def undo(keeper: Keeper, *, request: str | None = None) -> RestoreResult:
    """Take the last restore or rewind back."""
    newest = keeper.workspace.history.newest() or 0
    done = keeper.undo(request=request)
    if done.result is not None and done.result.number > newest:  # not told again
        _tell(keeper, done)
    return done


def _carried_out(keeper: Keeper, planned: RewindPlan, request: str | None) -> RestoreResult:
    done = keeper.rewind(planned, request=request)
    _tell(keeper, done)
    return done


def _tell(keeper: Keeper, done: RestoreResult) -> None:
    note = _note(done)
    if done.result is None or note is None or not note.scope.has_conversation:
        return
    session = keeper.workspace.sessions.get(note.session)
    told = {
        "turn": note.turn,
        "before": note.before,
        "scope": note.scope.value,
        "turns_rewound": _numbers(keeper.workspace, note.session, note.hidden),
        "turns_restored": _numbers(keeper.workspace, note.session, note.shown),
        "messages_removed": note.messages_removed,
    }
    telling.tell(keeper, "conversation_rewound", session, told, done.result.number)


def _note(done: RestoreResult) -> RewindNote | None:
    return None if done.result is None else note_of(done.result)


def _told_again(workspace: Workspace, done: RestoreResult, request: str, contents: bool) -> RewindResult:
    note = _note(done)
    if note is None:
        raise UsageError(f"Request {request} was a restore, and no rewind.")
    return _answer(workspace, note, done.checkpoint, done, contents)


def _answer(
    workspace: Workspace,
    note: RewindNote,
    target: Checkpoint | None,
    files: RestoreResult | None,
    contents: bool,
    *,
    needed: bool = False,
) -> RewindResult:
    """What is done, or would be, told from what the checkpoint that records it says."""
    target = target if note.scope.has_files else None
    written, deleted = ((), ()) if files is None else (files.written, files.deleted)
    return RewindResult(
        session=note.session,
        turn=note.turn,
        scope=note.scope,
        checkpoint=target,
        safety_checkpoint=None if files is None else files.safety_checkpoint,
        result=None if files is None else files.result,
        requires_confirmation=needed,
        plan=note.plan,
        written=written,
        deleted=deleted,
        unchanged=workspace.files if files is None else files.unchanged,
        conflicts=() if files is None else files.conflicts,
        turns_rewound=tuple(_numbers(workspace, note.session, note.hidden)),
        messages_removed=note.messages_removed,
        conversation=excerpts.tail(workspace, note.session, note.snapshot),
        prompt=_prompt(workspace, note),
        session_conflicts=tuple(from_text(path) for path in note.others),
        restorations=_restorations(workspace, target, written, deleted) if contents else None,
    )


def _numbers(workspace: Workspace, session: str, ordinals: Sequence[int]) -> list[int]:
    wanted = set(ordinals)
    turns = workspace.sessions.turns(session, include_rewound=True) if wanted else []
    return [turn.number for turn in turns if turn.ordinal in wanted]


def _prompt(workspace: Workspace, note: RewindNote) -> str | None:
    """What was asked in the turn that is to be tried again."""
    if not note.before:
        return None
    turns = workspace.sessions.turns(note.session, include_rewound=True)
    return next((turn.prompt for turn in turns if turn.ordinal == note.ordinal), None)


def _restorations(
    workspace: Workspace, target: Checkpoint | None, written: Sequence[Path], deleted: Sequence[Path]
) -> tuple[Restoration, ...]:
    """The files as they are then, with their content."""
    if target is None:
        return ()
    found, left = [Restoration(path, None) for path in deleted], CONTENTS_LIMIT
    for path in written:
        content = b"".join(workspace.history.read(str(target.number), path))
        left -= len(content)
        if left < 0:
            raise UsageError(
                f"The contents of {len(written):,} files are more than {CONTENTS_LIMIT:,} bytes.",
                "Ask without them, and read the files one by one.",
            )
        found.append(Restoration(path, content))
    return tuple(sorted(found, key=lambda one: one.path))


def _turn_of(workspace: Workspace, checkpoint: Checkpoint) -> tuple[str, Turn]:
    """The turn that a checkpoint was made for: its state afterwards, or before it."""
    if checkpoint.session is not None:
        for turn in reversed(workspace.sessions.turns(checkpoint.session)):
            if checkpoint.number in (turn.after, turn.before) and turn.number == checkpoint.turn:
                return checkpoint.session, turn
    for session, turn in workspace.sessions.turns_around(checkpoint.number):
        if turn.after == checkpoint.number and not turn.rewound:
            return session, turn
    raise UsageError(
        f"Checkpoint {checkpoint.number} is not the state of a session's turn that is still part of it.",
        "Its files alone can be restored.",
    )
