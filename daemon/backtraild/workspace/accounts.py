"""What a restore says about itself: in its journal, in the checkpoint that records it, and to whoever asked for it."""

from collections.abc import Mapping, Sequence
from typing import Any

from backtrail.errors import RestoreInterrupted, StoreDamaged, StoreFailed
from backtrail.pathtext import from_text, to_text
from backtraild.model import Changes, Checkpoint, Path
from backtraild.restore import Conflict, Outcome, Plan, Reason
from backtraild.workspace.restoring import RestoreResult
from backtraild.workspace.rewinds import REWIND, RewindNote, fingerprint

REQUEST, CONFLICTS = "request", "conflicts"


def unrecorded(error: StoreDamaged | StoreFailed) -> RestoreInterrupted:
    """Files that are in place, of which there is no checkpoint yet."""
    what = "Make room: it" if isinstance(error, StoreFailed) else "It"
    return RestoreInterrupted(
        f"The files are in place, but no checkpoint could be made of that. {error.message}",
        f"{what} is recorded as soon as it can be, which is tried every few seconds.",
    )


def note_of(request: str | None, rewind: RewindNote | None = None) -> dict[str, Any]:
    """What is noted of who asked for it, and of the turns that go with it."""
    asked = {} if request is None else {REQUEST: request}
    return asked if rewind is None else {**asked, **rewind.metadata()}


def context_of(
    target: Checkpoint, safety: Checkpoint | None, paths: Sequence[Path], note: Mapping[str, Any]
) -> dict[str, Any]:
    """What the journal of a restore holds, and the checkpoint that records it."""
    return {
        "restored": target.number,
        "safety": safety.number if safety else None,
        "paths": [to_text(path) for path in paths],
        **note,
    }


def message_of(context: Mapping[str, Any]) -> str:
    """The message of the checkpoint that records it."""
    if "undoes" in context:
        return f"Undid restore {context['undoes']}"
    rewind = context.get(REWIND)
    if rewind is None:
        return f"Restored checkpoint {context['restored']}"
    side = "before" if rewind["before"] else "after"
    return f"Rewound session {rewind['session']} to {side} turn {rewind['turn']}"


def plan_fingerprint(plan: Plan) -> str:
    """A name for exactly what a plan would do."""
    writes = [(write.path, write.old, write.new) for write in plan.writes]
    modes = [(change.path, change.old, change.new) for change in plan.mode_changes]
    deletes = [(delete.path, delete.old) for delete in plan.deletes]
    return fingerprint(writes, modes, deletes, plan.conflicts)


def context_told_by(recorded: Checkpoint) -> dict[str, Any]:
    """What the journal of a restore held, told by the checkpoint that records it."""
    told = {name: value for name, value in recorded.metadata.items() if name != CONFLICTS}
    return {**told, **note_of(recorded.request)}


def outcome_told_by(recorded: Checkpoint, changes: Changes, held: Changes) -> Outcome:
    """What a restore did, told by the checkpoint that records it: how that differs from the state before, and holds."""
    told = recorded.metadata.get(CONFLICTS, ())
    conflicts = tuple(Conflict(from_text(path), Reason[name]) for path, name in told)
    left = {conflict.path for conflict in conflicts}
    done = {path: change for path, change in changes.items() if path not in left}
    written = tuple(sorted(path for path, change in done.items() if change.new is not None))
    deleted = tuple(sorted(path for path, change in done.items() if change.new is None))
    return Outcome(written, deleted, (), len(held.keys() - left) - len(written), conflicts)


def expected_outcome(plan: Plan) -> Outcome:
    """What carrying out a plan will have done, if nothing comes in between."""
    return Outcome(
        tuple(write.path for write in plan.writes),
        tuple(delete.path for delete in plan.deletes),
        tuple(change.path for change in plan.mode_changes),
        plan.unchanged,
        plan.conflicts,
    )


def result_of(
    target: Checkpoint,
    safety: Checkpoint | None,
    result: Checkpoint | None,
    done: Outcome,
    *,
    dry_run: bool,
) -> RestoreResult:
    """The answer to whoever asked for it."""
    return RestoreResult(
        checkpoint=target,
        safety_checkpoint=safety,
        result=result,
        written=tuple(sorted({*done.written, *done.mode_changed})),
        deleted=done.deleted,
        unchanged=done.unchanged,
        conflicts=done.conflicts,
        dry_run=dry_run,
    )
