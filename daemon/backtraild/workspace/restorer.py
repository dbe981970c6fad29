"""Going back: the state before is saved first, so that every restore can be undone."""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from backtrail.errors import (
    NothingToDo,
    StoreDamaged,
    StoreFailed,
    UnknownCheckpoint,
    UnknownPath,
    UsageError,
)
from backtrail.pathtext import from_text, to_text
from backtraild.meter import Meter
from backtraild.model import Change, Changes, Checkpoint, Intent, Kind, Path, Placed, is_below
from backtraild.restore import (
    Conflict,
    Outcome,
    Plan,
    apply,
    conclude,
    effort,
    forget,
    make_plan,
    pending,
    recover,
)
from backtraild.store import restrict
from backtraild.workspace.accounts import (
    CONFLICTS,
    REQUEST,
    context_of,
    context_told_by,
    expected_outcome,
    message_of,
    note_of,
    outcome_told_by,
    plan_fingerprint,
    result_of,
    unrecorded,
)
from backtraild.workspace.history import History, compose
from backtraild.workspace.parts import Parts
from backtraild.workspace.recorder import Recorder
from backtraild.workspace.remedy import Remedy
from backtraild.workspace.restoring import RestoreResult
from backtraild.workspace.reversals import Reversals
from backtraild.workspace.rewinds import REWIND, RewindNote

_CONFLICTS_TOLD = 100  # a commit holds only so much


class Restorer:
    """Restores and undoes, with a checkpoint before and one after."""

    def __init__(
        self,
        parts: Parts,
        recorder: Recorder,
        history: History,
        reversals: Reversals,
        remedy: Remedy,
        meter: Meter,
    ) -> None:
        self._parts = parts
        self._remedy = remedy
        self._reversals = reversals
        self._meter = meter
        self._recorder = recorder
        self._history = history
        self._is_over = False  # is it known that nothing is left to do for any restore?

    def restore(
        self,
        name: str,
        paths: Sequence[Path] = (),
        *,
        dirty: Iterable[Path] | None = None,
        request: str | None = None,
        rewind: RewindNote | None = None,
    ) -> RestoreResult:
        """Make the workspace, or some paths of it, what a checkpoint holds.

        Only files that differ are written, and only what the safety checkpoint holds is replaced or deleted.
        `dirty` names what may have changed since the newest checkpoint; without it everything is looked at.
        As part of a rewind, it is recorded even where no file differs.
        """
        target = self._remedy.healed(lambda: self._history.find(name))
        return self._go_back(target, paths, dirty, note_of(request, rewind))

    def rewind_conversation(
        self, rewind: RewindNote, *, dirty: Iterable[Path] | None = None, request: str | None = None
    ) -> RestoreResult:
        """Record that a conversation goes back while all files stay; what is dirty is saved before."""
        return self._record_only(dirty, note_of(request, rewind))

    def preview(self, name: str, paths: Sequence[Path] = ()) -> RestoreResult:
        """What `restore` would do now, without doing any of it."""
        return self._remedy.healed(lambda: self._preview(name, paths))

    def _preview(self, name: str, paths: Sequence[Path]) -> RestoreResult:
        target = self._history.find(name)
        with self._recorder.look() as look:
            since = compose(self._history.changes_since(target), look.changes)
            changes = {path: Change(change.new, change.old) for path, change in since.items()}
            plan = self._plan(target, changes, paths)
        return replace(
            result_of(target, None, None, expected_outcome(plan), dry_run=True),
            fingerprint=plan_fingerprint(plan),
        )

    def undo(self, *, dirty: Iterable[Path] | None = None, request: str | None = None) -> RestoreResult:
        """Bring back the state before the last restore. An undo is a restore: undone again, it is redone."""
        self.recover()  # an interrupted restore is the last one
        self._reversals.catch_up()
        last = self._reversals.last_restore()
        if last is None or "safety" not in last.metadata:
            raise NothingToDo("There is no restore to undo.")
        inverse = self._reversals.inverse(last)
        note = {"undoes": last.number, **note_of(request, inverse)}
        if inverse is not None and not inverse.scope.has_files:
            return self._record_only(dirty, note)
        paths = [from_text(path) for path in last.metadata["paths"]]
        return self._go_back(self._state_before(last), paths, dirty, note)

    def _state_before(self, restore: Checkpoint) -> Checkpoint:
        number = int(restore.metadata["safety"])
        if not self._parts.store.has(number):  # retention keeps it, but its owner may delete it
            raise UnknownCheckpoint(
                f"The state before the last restore was checkpoint {number}, which was deleted.",
                "`backtrail list` shows what can be restored instead.",
            )
        return self._parts.store.get(number)

    def needed_by_undo(self) -> frozenset[int]:
        """The checkpoints without which the last restore could not be undone, or finished if it is not."""
        unfinished = pending(self._parts.journal) or {}
        # What it restores is needed as well: its files may not all be in place yet.
        needed = {unfinished.get("safety"), unfinished.get("restored")}
        with contextlib.suppress(StoreDamaged):  # then it can't be undone anyway
            last = self._reversals.last_restore()
            needed |= set() if last is None else {last.number, last.metadata.get("safety")}
        return frozenset(number for number in needed if number is not None)

    def done_for(self, request: str) -> RestoreResult | None:
        """What a restore or an undo did that was asked for under this id; None if none was.

        One that was interrupted is finished first: it was asked for under an id as well.
        """
        self.recover()
        made = self._recorder.catalogue.made_for(request)
        if made is None:
            return None
        if made.kind is not Kind.RESTORE:
            raise UsageError(f"Request {request} made checkpoint {made.number}, which is no restore.")
        self._reversals.catch_up()
        return self._told_again(made)

    def recover(self) -> None:
        """Finish a restore that a crash or a fault interrupted, and record the state it leads to.

        Also what the last one left to do when it was answered: no checkpoint may be made or deleted before that.
        """
        if not self._is_over:
            self._recover()
            self._is_over = True

    def close(self) -> None:
        """Leave no journal behind for a restore that may never come."""
        if self._is_over:
            forget(self._parts.journal)

    def _recover(self) -> None:
        parts = self._parts
        context = pending(parts.journal) or {}
        if context and self._is_recorded(context):
            conclude(parts.journal, parts.root, parts.store.objects, trash=parts.store.trash)
            return

        def record(done: Outcome) -> None:
            self._record(context, None, done.conflicts)

        recover(parts.journal, parts.root, parts.store.objects, record=record, trash=parts.store.trash)

    def _go_back(
        self, target: Checkpoint, paths: Sequence[Path], dirty: Iterable[Path] | None, note: Mapping[str, Any]
    ) -> RestoreResult:
        self.recover()  # an earlier one may be in place but not yet recorded
        self._reversals.catch_up()
        saved = self._save_before(target, dirty, allow_empty=False)
        before, changes = self._remedy.healed(lambda: self._step_to(target))
        plan = self._remedy.healed(lambda: self._plan(target, changes, paths))
        if plan.is_empty and REWIND not in note:
            return result_of(target, saved, None, expected_outcome(plan), dry_run=False)
        # Even where nothing was new to save, the state before gets a checkpoint of its own for `undo`.
        with self._parts.room.for_restore():
            safety = saved or self._save_before(target, (), allow_empty=True)
        context = context_of(target, safety, paths, note)
        recorded: list[Checkpoint | None] = []

        def record(done: Outcome) -> None:
            # What was left alone is not what it was taken for, and perhaps nobody else will ever say so.
            left = (conflict.path for conflict in done.conflicts)
            touched = {*done.written, *done.deleted, *done.mode_changed, *left}
            recorded.append(self._record(context, touched, done.conflicts, done.placed))

        parts = self._parts
        # Damage is met before the first byte is written: the same plan can be tried again.
        # What is written is told line by line as well, and if it is all that differs, its tree is known.
        with parts.store.objects.remembering(), parts.steps.expecting(before, changes, target.tree):
            outcome = self._remedy.healed(lambda: self._apply(plan, context, record))
        if plan.is_empty:
            record(outcome)  # a rewind in which no file differs
        if REWIND in note:
            with parts.room.for_restore():
                self._reversals.finish()
        return result_of(target, safety, recorded[0], outcome, dry_run=False)

    def _apply(self, plan: Plan, context: Mapping[str, Any], record: Callable[[Outcome], None]) -> Outcome:
        parts, progress = self._parts, self._meter.begin("writing", effort(plan))
        self._is_over = False
        try:
            return apply(
                parts.root,
                plan,
                parts.store.objects,
                parts.journal,
                context,
                record=record,
                progress=progress,
                trash=parts.store.trash,
            )
        finally:
            parts.store.sweep_when_settled()

    def _step_to(self, target: Checkpoint) -> tuple[str | None, Changes]:
        """The tree of the newest checkpoint, and how that of another one differs from it."""
        newest = self._parts.store.newest_tree()
        return newest, self._parts.changes_between(newest, target.tree)

    def _record_only(self, dirty: Iterable[Path] | None, note: Mapping[str, Any]) -> RestoreResult:
        """A checkpoint that changes no file, for what happens to a conversation alone."""
        self.recover()
        self._reversals.catch_up()
        self._recorder.save(Intent(Kind.PRE_RESTORE, "Before rewinding the conversation"), dirty)
        newest = self._history.find("@")
        recorded = self._record(context_of(newest, newest, (), note), (), ())
        self._reversals.finish()
        return result_of(newest, newest, recorded, Outcome((), (), (), self._count(()), ()), dry_run=False)

    def _save_before(
        self, target: Checkpoint, dirty: Iterable[Path] | None, *, allow_empty: bool
    ) -> Checkpoint | None:
        intent = Intent(Kind.PRE_RESTORE, f"Before restoring checkpoint {target.number}")
        return self._recorder.save(intent, dirty, allow_empty=allow_empty)

    def _is_recorded(self, context: Mapping[str, Any]) -> bool:
        newest, last = self._parts.store.newest, None
        with contextlib.suppress(StoreDamaged):  # what can't be read is no record
            last = None if newest is None else self._parts.store.get(newest)
        return last is not None and last.kind is Kind.RESTORE and context_told_by(last) == context

    def _told_again(self, made: Checkpoint) -> RestoreResult:
        """The result of a restore from what it recorded."""
        get, compare = self._parts.store.get, self._parts.changes_between
        paths = [from_text(path) for path in made.metadata["paths"]]
        safety = get(int(made.metadata["safety"]))
        changes = restrict(compare(safety.tree, made.tree), paths)
        done = outcome_told_by(made, changes, restrict(compare(None, made.tree), paths))
        return result_of(get(int(made.metadata["restored"])), safety, made, done, dry_run=False)

    def _record(
        self,
        context: Mapping[str, Any],
        touched: Iterable[Path] | None,
        conflicts: Sequence[Conflict],
        placed: Mapping[Path, Placed] | None = None,
    ) -> Checkpoint | None:
        told = [(to_text(conflict.path), conflict.reason.name) for conflict in conflicts[:_CONFLICTS_TOLD]]
        metadata = {**context, **({CONFLICTS: told} if told else {})}
        request = metadata.pop(REQUEST, None)
        session = metadata.get(REWIND, {}).get("session")
        if REWIND in metadata:
            self._reversals.owe()
        intent = Intent(Kind.RESTORE, message_of(context), session, metadata=metadata, request=request)
        with self._parts.room.for_restore():  # the files are in place: that must not fail for want of room
            try:
                return self._recorder.save(intent, touched, allow_empty=True, placed=placed)
            except StoreDamaged as error:
                raise unrecorded(error) from error
            except StoreFailed:
                return self._record_in_spare_room(intent, touched)

    def _record_in_spare_room(self, intent: Intent, touched: Iterable[Path] | None) -> Checkpoint | None:
        """The files are in place, which may have taken the last of a disk that holds the store as well."""
        try:
            with self._parts.store.in_spare_room():
                return self._recorder.save(intent, touched, allow_empty=True)
        except StoreFailed as error:
            raise unrecorded(error) from error

    def _plan(self, target: Checkpoint, changes: Changes, paths: Sequence[Path]) -> Plan:
        wanted = restrict(changes, paths)
        self._check_paths(target, wanted, paths)
        differing = sum(1 for change in wanted.values() if change.old is not None)
        return make_plan(self._parts.root, wanted, self._count(paths) - differing)

    def _count(self, paths: Sequence[Path]) -> int:
        """Files at these paths; one that lies in a folder which is named too counts once."""
        outermost = [path for path in set(paths) if not any(is_below(path, other) for other in paths)]
        return sum(map(self._parts.table.count, outermost or (b"",)))

    def _check_paths(self, target: Checkpoint, changes: Changes, paths: Sequence[Path]) -> None:
        """A path that neither the checkpoint nor the workspace knows is a slip of the pen."""
        for path in paths:
            if not restrict(changes, [path]) and self._history.entry(target, path) is None:
                raise UnknownPath(
                    f"Neither checkpoint {target.number} nor the workspace has anything at {to_text(path)}.",
                    f"`backtrail show {target.number}` lists what it holds.",
                )
