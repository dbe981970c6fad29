"""A workspace that is being watched: hints go in, checkpoints and events come out. Used by one thread."""

import contextlib
import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from backtrail.errors import BacktrailError, NothingToDo, StoreDamaged, StoreFailed, StoreFull
from backtraild.health import Health
from backtraild.meter import Meter
from backtraild.model import Checkpoint, Intent, Kind, Path, Status
from backtraild.redaction import Redactor
from backtraild.registry import Registered
from backtraild.settle import Loss, Losses, Pace, Restraint
from backtraild.state import EventLog
from backtraild.teller import Teller
from backtraild.watch import OVERFLOW, Dirt, Hub, Interruptible, Taken
from backtraild.workspace import PruneResult, RestoreResult, RewindPlan, Workspace

BARRIER_SECONDS = 2.0
# The state before most of a workspace went or was rewritten is kept this long, whatever retention says.
MASS_CHANGE_KEPT = 7 * 24 * 3600.0
NOT_WATCHING = "while Backtrail was not watching"
ASKED = "asked"  # why something is pruned that somebody wants to be
_NAMED = 20  # damaged checkpoints in one sentence

_log = logging.getLogger(__name__)


class Facts(Struct, frozen=True):
    """What is known of a workspace without asking its store; a new one after everything that was done."""

    files: int
    checkpoints: int
    last: Checkpoint | None
    watcher: str


class Keeper:
    """Knows what may have changed since the newest checkpoint, and makes the next one of it."""

    def __init__(
        self,
        entry: Registered,
        folder: str,
        hub: Hub,
        events: EventLog,
        health: Health,
        dirt: Dirt,
        meter: Meter,
        redactor: Redactor,
    ) -> None:
        self._entry = entry
        self._hub = hub
        self._health = health
        self._dirt = dirt
        self._restraint = Restraint(Pace(entry.config.quiet, entry.config.patience))
        self._losses = Losses()
        self.resting: frozenset[Path] = frozenset()
        # Until everything has been looked at once, hints alone say too little.
        self._look_at_everything = True
        self.watcher = hub.watcher(os.fsencode(entry.root), dirt, entry.config.watcher)
        self._observer = Interruptible(self.watcher)
        try:
            self.workspace = Workspace(entry.root, folder, entry.config, self._observer, meter, redactor)
        except BaseException:
            self.watcher.close()
            raise
        self._teller = Teller(entry, events, health, self.workspace.history)
        self.tell, self.tell_new = self._teller.tell, self._teller.tell_new
        self.trim_log = self._teller.trim_log
        self.facts = Facts(self.workspace.files, self.workspace.checkpoints, None, self.watcher.kind)

    def close(self) -> None:
        """Stop watching and let go of the store."""
        self.watcher.close()
        self.workspace.close()

    def catch_up(self, circumstance: str, *, automatic: bool, force: bool, stop: Callable[[], bool]) -> None:
        """Install the watches and save what changed while nobody watched; the baseline, if there is none.

        Without automatic checkpoints, what changed waits for the next one that somebody asks for.
        """
        self.tell_new()
        self.workspace.check_root()
        with self._observer.until(stop), self._taken() as taken:
            hints = self._scouted(taken, stop)
            if self.workspace.history.newest() is None:
                baseline = self.workspace.start(force=force)
                self._done(baseline)
                self.tell("initialized", baseline.number, None, {"files": baseline.files_changed_count})
            elif not automatic or not self._caught_up(circumstance, hints):
                self._put_off(circumstance, hints)
        self._look_at_everything = False
        self._done(None)

    def _scouted(self, taken: Taken, stop: Callable[[], bool]) -> frozenset[Path] | None:
        """What may have changed, if scouts were sent out and can be relied on; None is everything."""
        with self._hub.report(self._entry.id, stop) as report:
            hints = None if report is None or taken.reason else self.workspace.hints(report)
        return None if hints is None else hints | taken.paths

    def _caught_up(self, circumstance: str, dirty: frozenset[Path] | None) -> bool:
        """Save what changed while nobody watched; False if there is no room for it, which may change."""
        intent = Intent(Kind.AUTO, metadata={"catch_up": True}, circumstance=circumstance)
        try:
            self._saved(intent, dirty)
        except StoreFull:
            return False
        return True

    def _put_off(self, circumstance: str, dirty: frozenset[Path] | None) -> None:
        """What changed while nobody watched waits for the next checkpoint; changes from now on are noticed."""
        if dirty is None:
            self.workspace.enter_folder(b"")
            self._dirt.mark_everything(f"changes were possible {circumstance}")
            return
        for path in dirty:
            self._dirt.mark(path)

    def save(self, intent: Intent, *, allow_empty: bool = False, full: bool = False) -> Checkpoint:
        """A checkpoint with every write that finished before the call; NothingToDo if that changed nothing.

        A message counts as a change where an automatic checkpoint, which was only faster, holds the rest.
        Asked again under the id of an earlier request, it gives the checkpoint that was made for that one.
        """
        made = None if intent.request is None else self.workspace.made_for(intent.request)
        if made is not None:
            return made
        last = self.facts.last
        is_new_name = intent.message is not None and last is not None and last.kind is Kind.AUTO
        with self._everything_so_far(full) as dirty:
            checkpoint = self._saved(intent, dirty, allow_empty=allow_empty or is_new_name)
        if checkpoint is None:
            raise NothingToDo("Nothing has changed since the last checkpoint.")
        return checkpoint

    def save_changes(self, intent: Intent) -> Checkpoint | None:
        """A checkpoint with every write that finished before the call; None if that changed nothing."""
        with self._everything_so_far(full=False) as dirty:
            return self._saved(intent, dirty)

    def save_settled(self, now: float, stop: Callable[[], bool]) -> Checkpoint | None:
        """An automatic checkpoint of what has settled; None if it would equal the newest one."""
        with self._taken() as taken, self._observer.until(stop):
            if taken.reason or self._look_at_everything:
                self.resting = frozenset()
                metadata = {"looked_at_everything": taken.reason} if taken.reason else {}
                return self._saved(Intent(Kind.AUTO, metadata=metadata), None)
            held = self._restraint.held_back(taken.paths, now)
            self.resting |= held
            return self._saved(Intent(Kind.AUTO), taken.paths - held) if taken.paths - held else None

    def release_rested(self, now: float) -> float | None:
        """Large restless files whose time has come are dirty again; when the next one's will have come."""
        released = self.resting - self._restraint.held_back(self.resting, now)
        self.resting -= released
        for path in released:
            self._dirt.mark(path)
        return self._restraint.first_release(self.resting)

    def restore(self, name: str, paths: Sequence[Path] = (), *, request: str | None = None) -> RestoreResult:
        """Go back to a checkpoint; what has not been saved yet goes into the safety checkpoint."""
        return self._once(
            request, lambda dirty: self.workspace.restore(name, paths, dirty=dirty, request=request)
        )

    def undo(self, *, request: str | None = None) -> RestoreResult:
        """Take the last restore back."""
        return self._once(request, lambda dirty: self.workspace.undo(dirty=dirty, request=request))

    def rewind(self, plan: RewindPlan, *, request: str | None = None) -> RestoreResult:
        """Go back to a turn of a session as it was planned."""
        return self._once(request, lambda dirty: self.workspace.rewind(plan, dirty=dirty, request=request))

    def delete(self, names: Sequence[str]) -> list[Checkpoint]:
        """Let go of checkpoints, damaged or not: of all of them, or of none if one is unknown."""
        found = {checkpoint.number: checkpoint for checkpoint in map(self.workspace.history.find_any, names)}
        for number, checkpoint in found.items():
            if number == self.workspace.history.newest():
                # The disk now differs from the newest that is left, in files of which no hint will come.
                self._look_at_everything = True
            self.workspace.delete(str(number))
            self._teller.tell_done("checkpoint_deleted", number, checkpoint.session, {"id": checkpoint.id})
        self._done(None)
        return list(found.values())

    def heal(self, reason: str) -> None:
        """Store again what the store lacks and the disk still has, because of damage that somebody found."""
        self.workspace.heal(reason)
        self._done(None)

    def heal_if_due(self, stop: Callable[[], bool]) -> None:
        """The same, where somebody who reads has met damage that calls for it."""
        with self._observer.until(stop):
            if self.workspace.heal_if_due():
                self._done(None)

    def prune(self, *, dry_run: bool = False, reason: str = ASKED, spare: int = 0) -> PruneResult:
        """Let go of what retention no longer keeps, told as one event; `dry_run` only says what that would be."""
        result = self.workspace.plan_pruning(dry_run=dry_run, spare=spare, asked=reason == ASKED)
        if not dry_run:
            self.let_go([decision.number for decision in result.dropped], reason)
        return result

    def let_go(self, numbers: Sequence[int], reason: str) -> None:
        """Drop checkpoints, in this order, for one of retention's reasons, told as one event."""
        if not numbers:
            return
        try:
            self.workspace.drop(numbers)
        finally:  # a full disk may end it half-way: what is gone is told all the same
            self._teller.tell_pruned(numbers, reason)
            self._done(None)

    def watch_new_folders(self) -> None:
        """Folders that have just appeared get their watches at once, so that what goes on in them counts."""
        for folder in self._dirt.take_folders():
            self.workspace.enter_folder(folder)

    def look_at_unwatched(self) -> None:
        """Folders without a watch are looked at instead."""
        for folder in self.watcher.unwatched:
            self._dirt.mark(folder)

    def _once(
        self, request: str | None, go_back: Callable[[Iterable[Path] | None], RestoreResult]
    ) -> RestoreResult:
        """Go back, or tell what was done already under this id: an undo that is repeated would be a redo."""
        result = None if request is None else self.workspace.restored_for(request)
        if result is None:
            with self._everything_so_far(full=False) as dirty:
                result = go_back(dirty)
        self._done(result.result)
        return result

    @contextlib.contextmanager
    def _everything_so_far(self, full: bool) -> Iterator[Iterable[Path] | None]:
        """What to look at so that nothing written before this moment is missed; None is everything."""
        complete = self.watcher.barrier(BARRIER_SECONDS)
        self.look_at_unwatched()  # no event tells of them, and whoever asks can't wait for the timer
        with self._taken() as taken:
            resting, self.resting = self.resting, frozenset()
            everything = full or taken.reason or not complete or self._look_at_everything
            yield None if everything else taken.paths | resting

    @contextlib.contextmanager
    def _taken(self) -> Iterator[Taken]:
        """The dirt; it is as dirty as before if looking at it fails."""
        taken, resting = self._dirt.take(), self.resting
        if taken.reason == OVERFLOW:
            self._health.trouble("events", f"Changes were missed: {taken.reason}; everything is looked at.")
        try:
            yield taken
        except BaseException:
            self._dirt.put_back(taken)
            self.resting |= resting
            raise
        if taken.reason:
            self._health.well("events")

    def _saved(
        self, intent: Intent, dirty: Iterable[Path] | None, *, allow_empty: bool = False
    ) -> Checkpoint | None:
        before, files = self.workspace.history.newest(), self.workspace.files
        activity = self._health.activity
        self._health.activity = "scanning" if dirty is None else activity
        try:
            checkpoint = self.workspace.save(intent, dirty, allow_empty=allow_empty)
        except NothingToDo:
            checkpoint = None
        finally:
            self._health.activity = activity
        self.workspace.room.eased()
        if dirty is None:
            self._look_at_everything = False
        self._done(checkpoint)
        if checkpoint is not None and before is not None:
            try:
                self._keep_before_mass_change(before, files, checkpoint)
            except BacktrailError as error:  # the checkpoint is made, whatever becomes of the one before it
                _log.warning("%s: %s", self._entry.id, error.message)
        return checkpoint

    def _done(self, checkpoint: Checkpoint | None) -> None:
        """Take note of what a look at the disk led to, and tell of it."""
        now = time.monotonic()
        if checkpoint is not None:
            self._restraint.captured({file.path: file.size for file in checkpoint.files_changed}, now)
        unsettled = self.workspace.unsettled()
        self._restraint.kept_changing(unsettled - self.resting, now)
        self.resting |= unsettled
        self._check_watches()
        self._refresh_facts(checkpoint)
        self._check_store()
        for healing in self.workspace.take_healings():
            told = {"reason": healing.reason, "done": list(healing.done), "objects": healing.objects}
            self._teller.tell_done("healed", None, None, told)
        self._teller.try_to_tell_new(checkpoint)

    def _refresh_facts(self, checkpoint: Checkpoint | None) -> None:
        newest, last = self.workspace.history.newest(), checkpoint or self.facts.last
        if newest is None or (last is not None and last.number != newest):
            last = None
        if last is None and newest is not None:
            with contextlib.suppress(StoreDamaged, StoreFailed):
                last = self.workspace.history.find(str(newest))
        self.facts = Facts(self.workspace.files, self.workspace.checkpoints, last, self.watcher.kind)

    def _keep_before_mass_change(self, before: int, files: int, checkpoint: Checkpoint) -> None:
        if checkpoint.kind is Kind.RESTORE or not checkpoint.files_changed_count:
            return  # a restore has its safety checkpoint
        if checkpoint.files_changed_complete:
            statuses = [change.status for change in checkpoint.files_changed]
            deleted, rewritten = statuses.count(Status.DELETED), statuses.count(Status.MODIFIED)
        else:
            deleted, rewritten = self.workspace.losses(checkpoint)
        found = self._losses.noted(Loss(before, files, deleted, rewritten), time.monotonic())
        if found is not None:
            self.workspace.pin_for(found.before, MASS_CHANGE_KEPT)
            until = {"pinned": found.before, "pinned_seconds": MASS_CHANGE_KEPT}
            lost = {"files": found.files, "deleted": found.deleted, "rewritten": found.rewritten}
            self.tell("mass_change", found.before, None, {**lost, **until})

    def _check_store(self) -> None:
        damaged = " ".join(map(str, self.workspace.unreadable()[:_NAMED]))
        if damaged:
            self._health.trouble(
                "damage",
                f"Checkpoints can't be read: {damaged}. `backtrail delete {damaged}` lets go of them.",
            )
        else:
            self._health.well("damage")

    def _check_watches(self) -> None:
        reasons = sorted(set(self.watcher.unwatched.values()))
        if reasons:
            count = len(self.watcher.unwatched)
            self._health.trouble(
                "watches", f"{count:,} folder{'s' * (count != 1)} can't be watched: {'; '.join(reasons)}"
            )
        else:
            self._health.well("watches")
