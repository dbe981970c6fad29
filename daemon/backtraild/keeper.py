"""A workspace that is being watched: hints go in, checkpoints and events come out. Used by one thread."""

import logging
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from backtrail.errors import NothingToDo
from backtrail.pathtext import to_text
from backtraild.health import Health
from backtraild.model import Checkpoint, Intent, Kind, Path, Status
from backtraild.registry import Registered
from backtraild.settle import Pace, Restraint
from backtraild.state import EventLog
from backtraild.watch import Dirt, Hub, Taken
from backtraild.workspace import RestoreResult, Workspace

BARRIER_SECONDS = 2.0
# Most of a workspace gone or rewritten at once: the state before it is kept for a while.
MASS_CHANGE_FILES = 20
MASS_CHANGE_KEPT = 7 * 24 * 3600.0

_log = logging.getLogger(__name__)


class Keeper:
    """Knows what may have changed since the newest checkpoint, and makes the next one of it."""

    def __init__(
        self, entry: Registered, folder: str, hub: Hub, events: EventLog, health: Health, dirt: Dirt
    ) -> None:
        self._entry = entry
        self._events = events
        self._health = health
        self._dirt = dirt
        self._restraint = Restraint(Pace(entry.config.quiet, entry.config.patience))
        self._resting: frozenset[Path] = frozenset()
        self.watcher = hub.watcher(os.fsencode(entry.root), dirt, entry.config.watcher)
        try:
            self.workspace = Workspace(entry.root, folder, entry.config, self.watcher)
        except BaseException:
            self.watcher.close()
            raise

    def close(self) -> None:
        """Stop watching and let go of the store."""
        self.watcher.close()
        self.workspace.close()

    def catch_up(self, *, force: bool = False) -> None:
        """Install the watches and save what changed while nobody watched; the baseline, if there is none."""
        self._dirt.take()  # the look below sees everything anyway
        self._tell_lost_events()
        if self.workspace.history.newest() is None:
            baseline = self.workspace.start(force=force)
            self._tell(baseline)
            self._append("initialized", baseline.number, None, {"files": baseline.files_changed_count})
        else:
            self._saved(Intent(Kind.AUTO, metadata={"catch_up": True}), None)

    def save(self, intent: Intent, *, allow_empty: bool = False, full: bool = False) -> Checkpoint:
        """A checkpoint with every write that finished before the call; NothingToDo if that changed nothing."""
        checkpoint = self._saved(intent, self._everything_so_far(full), allow_empty=allow_empty)
        if checkpoint is None:
            raise NothingToDo("Nothing has changed since the last checkpoint.")
        return checkpoint

    def save_settled(self, now: float) -> Checkpoint | None:
        """An automatic checkpoint of what has settled; None if it would equal the newest one."""
        taken = self._dirt.take()
        if taken.reason:
            self._resting = frozenset()
            return self._saved_or_put_back(taken, Intent(Kind.AUTO), None)
        self._resting |= self._restraint.held_back(taken.paths, now)
        return self._saved_or_put_back(taken, Intent(Kind.AUTO), taken.paths - self._resting)

    def release_rested(self, now: float) -> float | None:
        """Large restless files whose time has come are dirty again; when the next one's will have come."""
        released = self._resting - self._restraint.held_back(self._resting, now)
        self._resting -= released
        for path in released:
            self._dirt.mark(path)
        return self._restraint.first_release(self._resting)

    def restore(self, name: str, paths: Sequence[Path] = ()) -> RestoreResult:
        """Go back to a checkpoint; what has not been saved yet goes into the safety checkpoint."""
        return self._told(self.workspace.restore(name, paths, dirty=self._everything_so_far(full=False)))

    def undo(self) -> RestoreResult:
        """Take the last restore back."""
        return self._told(self.workspace.undo(dirty=self._everything_so_far(full=False)))

    def watch_new_folders(self) -> None:
        """Folders that have just appeared get their watches at once, so that what goes on in them counts."""
        for folder in self._dirt.take_folders():
            self.workspace.enter_folder(folder)

    def look_at_unwatched(self) -> None:
        """Folders without a watch are looked at instead."""
        for folder in self.watcher.unwatched:
            self._dirt.mark(folder)

    def _everything_so_far(self, full: bool) -> Iterable[Path] | None:
        """What to look at so that nothing written before this moment is missed; None is everything."""
        complete = self.watcher.barrier(BARRIER_SECONDS)
        taken = self._dirt.take()
        resting, self._resting = self._resting, frozenset()
        return None if full or taken.reason or not complete else taken.paths | resting

    def _saved_or_put_back(
        self, taken: Taken, intent: Intent, dirty: Iterable[Path] | None
    ) -> Checkpoint | None:
        try:
            return self._saved(intent, dirty)
        except BaseException:
            self._dirt.put_back(taken)
            raise

    def _saved(
        self, intent: Intent, dirty: Iterable[Path] | None, *, allow_empty: bool = False
    ) -> Checkpoint | None:
        before = self.workspace.history.newest()
        files, _ = self.workspace.totals()
        try:
            checkpoint = self.workspace.save(intent, dirty, allow_empty=allow_empty)
        except NothingToDo:
            checkpoint = None
        for path in self.workspace.unsettled():
            self._dirt.mark(path)
        if checkpoint is not None:
            self._restraint.captured(
                {change.path: change.size for change in checkpoint.files_changed}, time.monotonic()
            )
            self._tell(checkpoint)
            if before is not None:
                self._keep_before_mass_change(before, files, checkpoint)
        self._check_watches()
        return checkpoint

    def _told(self, result: RestoreResult) -> RestoreResult:
        for checkpoint in (result.safety_checkpoint, result.result):
            if checkpoint is not None and checkpoint.number > self._events.last_checkpoint(self._entry.id):
                self._tell(checkpoint)
        return result

    def _tell_lost_events(self) -> None:
        """Checkpoints whose event a crash swallowed get it now."""
        last = self._events.last_checkpoint(self._entry.id)
        for number in self.workspace.history.numbers_after(last):
            self._tell(self.workspace.history.find(str(number)))

    def _tell(self, checkpoint: Checkpoint) -> None:
        kind = "checkpoint_restored" if checkpoint.kind is Kind.RESTORE else "checkpoint_created"
        self._append(kind, checkpoint.number, checkpoint.session, _shown(checkpoint))

    def _append(
        self, kind: str, checkpoint: int | None, session: str | None, data: Mapping[str, Any]
    ) -> None:
        root = to_text(os.fsencode(self._entry.root))
        self._events.append(kind, self._entry.id, root, checkpoint, session, data)

    def _keep_before_mass_change(self, before: int, files: int, checkpoint: Checkpoint) -> None:
        lost = sum(1 for change in checkpoint.files_changed if change.status in _LOSSES)
        lost = max(lost, checkpoint.files_changed_count if not checkpoint.files_changed_complete else 0)
        if lost < MASS_CHANGE_FILES or lost * 2 < files:
            return
        self.workspace.pin_for(before, MASS_CHANGE_KEPT)
        self._append("mass_change", before, None, {"changed": lost, "files": files, "pinned": before})

    def _check_watches(self) -> None:
        reasons = sorted(set(self.watcher.unwatched.values()))
        if reasons:
            count = len(self.watcher.unwatched)
            self._health.trouble("watches", f"{count:,} folders can't be watched: {'; '.join(reasons)}")
        else:
            self._health.well("watches")


_LOSSES = (Status.DELETED, Status.MODIFIED)


def _shown(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "id": checkpoint.id,
        "kind": checkpoint.kind.value,
        "message": checkpoint.message,
        "files_changed": checkpoint.files_changed_count,
        "insertions": checkpoint.insertions,
        "deletions": checkpoint.deletions,
        **dict(checkpoint.metadata),
    }
