"""Going back to a turn of a session: planned from its records, carried out as a restore that says so."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from backtrail.errors import UnknownCheckpoint
from backtrail.pathtext import to_text
from backtraild.model import Checkpoint, Path
from backtraild.sessions import Session, Sessions, Turn
from backtraild.workspace import attribution
from backtraild.workspace.attribution import Step
from backtraild.workspace.history import History
from backtraild.workspace.parts import Parts
from backtraild.workspace.recorder import Recorder
from backtraild.workspace.restorer import Restorer
from backtraild.workspace.restoring import RestoreResult
from backtraild.workspace.rewinds import Rewind, RewindNote, RewindPlan, Scope, fingerprint

_OTHERS_TOLD = 1000  # a commit holds only so much


class Rewinder:
    """Says what a rewind would do, and does it."""

    def __init__(
        self, parts: Parts, recorder: Recorder, history: History, restorer: Restorer, sessions: Sessions
    ) -> None:
        self._parts = parts
        self._recorder = recorder
        self._history = history
        self._restorer = restorer
        self._sessions = sessions

    def plan(self, wanted: Rewind) -> RewindPlan:
        """What going back would do now; nothing is changed by asking."""
        session = self._sessions.get(wanted.session)
        turn = self._sessions.turn(wanted.session, wanted.turn)
        turns = self._sessions.turns(wanted.session)
        end = turn.ordinal if wanted.before else turn.ordinal + 1
        kept = [one for one in turns if one.ordinal < end]
        gone = [one for one in turns if one.ordinal >= end]
        note = self._note(wanted, session, turn, kept, gone)
        if not wanted.scope.has_files:
            return _named(RewindPlan(note, None, None), wanted)
        target = self._history.find(str(self._state(wanted, turn, kept, gone)))
        if wanted.only_session:
            return _named(self._for_session_alone(note, target), wanted)
        return _named(RewindPlan(note, target, self._restorer.preview(str(target.number))), wanted)

    def carry_out(
        self, plan: RewindPlan, *, dirty: Iterable[Path] | None = None, request: str | None = None
    ) -> RestoreResult:
        """Do what was planned."""
        if plan.checkpoint is None or plan.files is None:
            # So recorded, undoing it leaves the files alone as well.
            note = replace(plan.note, scope=Scope.CONVERSATION)
            return self._restorer.rewind_conversation(note, dirty=dirty, request=request)
        name = str(plan.checkpoint.number)
        return self._restorer.restore(name, plan.paths, dirty=dirty, request=request, rewind=plan.note)

    def _note(
        self, wanted: Rewind, session: Session, turn: Turn, kept: Sequence[Turn], gone: Sequence[Turn]
    ) -> RewindNote:
        told = RewindNote(
            session=session.id,
            created=session.created,
            turn=turn.number,
            ordinal=turn.ordinal,
            before=wanted.before,
            scope=wanted.scope,
            turn_count=session.turn_count,
            snapshot=session.snapshot,
            snapshot_before=session.snapshot,
        )
        if not wanted.scope.has_conversation:
            return told
        snapshot = self._conversation(session, kept, gone)
        removed = self._messages(session, session.snapshot) - self._messages(session, snapshot)
        hidden = tuple(one.ordinal for one in gone)
        return replace(told, snapshot=snapshot, hidden=hidden, messages_removed=max(0, removed))

    def _conversation(self, session: Session, kept: Sequence[Turn], gone: Sequence[Turn]) -> int | None:
        """The snapshot after the last turn that is kept; before all turns, the one that the session began with."""
        for turn in reversed(kept):
            if turn.snapshot is not None:
                return turn.snapshot
        recorded = [
            turn.snapshot
            for turn in self._sessions.turns(session.id, include_rewound=True)
            if turn.snapshot is not None
        ]
        numbers = {turn.number for turn in gone}
        return max(
            (
                snapshot.number
                for snapshot in self._sessions.snapshots(session.id)
                if snapshot.turn not in numbers
                and snapshot.number < min(recorded, default=snapshot.number + 1)
            ),
            default=None,
        )

    def _messages(self, session: Session, snapshot: int | None) -> int:
        return 0 if snapshot is None else self._sessions.snapshot(session.id, snapshot).message_count

    def _state(self, wanted: Rewind, turn: Turn, kept: Sequence[Turn], gone: Sequence[Turn]) -> int:
        """The checkpoint that holds the files as they were."""
        if wanted.before:
            last = kept[-1].after if kept else None
            there = self._recorder.catalogue.asked(lambda: self._parts.index.newest_at(turn.started))
            candidates = [turn.before, last, there]
        else:
            candidates = [turn.after, gone[0].before if gone else None]
        for number in candidates:
            if number is not None:
                return number
        side = "before" if wanted.before else "after"
        raise UnknownCheckpoint(
            f"No checkpoint holds the files as they were {side} turn {turn.number} of session {wanted.session!r}.",
            "The conversation alone can go back.",
        )

    def _for_session_alone(self, note: RewindNote, target: Checkpoint) -> RewindPlan:
        """Only paths that the session changed since then go back, and of those only what nobody else changed."""
        everything = self._restorer.preview(str(target.number))
        differing = {*everything.written, *everything.deleted}
        ours, others = attribution.divided(
            note.session, self._steps(target.number), self._sessions.turns_beyond(target.number)
        )
        shared = sorted(differing & ours & others)
        note = replace(note, others=tuple(to_text(path) for path in shared[:_OTHERS_TOLD]))
        paths = tuple(sorted((differing & ours) - others))
        if not paths:
            return RewindPlan(note, target, None)
        return RewindPlan(note, target, self._restorer.preview(str(target.number), paths), paths)

    def _steps(self, number: int) -> list[Step]:
        """What each checkpoint since then changed, and what is not saved yet."""
        last, steps = self._parts.store.get(number), []
        for following in self._history.numbers_after(number):
            checkpoint = self._parts.store.get(following)
            # Compared with the one that is left before it: what a deleted one changed counts as well.
            changes = self._parts.changes_between(last.tree, checkpoint.tree)
            steps.append(attribution.step(checkpoint, changes))
            last = checkpoint
        with self._recorder.look() as look:
            steps.append(Step(frozenset(look.changes)))
        return steps


def _named(plan: RewindPlan, wanted: Rewind) -> RewindPlan:
    """With a name that only this plan has: the same one is made only as long as nothing has changed."""
    note, files = plan.note, plan.files
    told = (note.snapshot, note.snapshot_before, note.hidden, note.others)
    target = None if plan.checkpoint is None else plan.checkpoint.id
    name = fingerprint(wanted, target, told, None if files is None else files.fingerprint)
    return replace(plan, note=replace(note, plan=name))
