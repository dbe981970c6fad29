"""The face of one workspace."""

import contextlib
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime

from backtrail.errors import BacktrailError, NothingToDo, StoreFailed
from backtraild.meter import Meter, silent
from backtraild.model import Checkpoint, Intent, Kind, Path, Skipped, WorkspaceConfig
from backtraild.redaction import Redactor
from backtraild.retention import Ranking
from backtraild.scan import NoObserver, Observer
from backtraild.scouts.report import Report
from backtraild.sessions import HitPage, Sessions
from backtraild.state import Query
from backtraild.transcripts import Compaction, Transcripts
from backtraild.workspace import losses
from backtraild.workspace.annals import Annals
from backtraild.workspace.blame import Blame
from backtraild.workspace.history import History
from backtraild.workspace.parts import open_parts, reconcile
from backtraild.workspace.pieces import Pieces
from backtraild.workspace.pins import TemporaryPins
from backtraild.workspace.pruner import Pruner, PruneResult
from backtraild.workspace.recorder import Recorder
from backtraild.workspace.reinstating import reinstate
from backtraild.workspace.remedy import Remedy
from backtraild.workspace.restorer import Restorer
from backtraild.workspace.restoring import RestoreResult
from backtraild.workspace.reversals import Reversals
from backtraild.workspace.rewinder import Rewinder
from backtraild.workspace.rubbish import Rubbish
from backtraild.workspace.suspicion import Healing
from backtraild.workspace.versions import Versions


class Workspace:
    """A folder, its store, and everything one can do with them.

    The caller makes sure that nobody else has the same store open, and that the root may be watched at all
    (`guard.check_root`). Opening finishes what a crash left half-done.
    """

    def __init__(
        self,
        root: str,
        folder: str,
        config: WorkspaceConfig | None = None,
        observer: Observer | None = None,
        meter: Meter | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        meter = meter or silent()
        self.redactor = redactor or Redactor()
        self._parts = open_parts(root, folder, config or WorkspaceConfig())
        try:
            self._recorder = Recorder(self._parts, observer or NoObserver(), meter)
            self.remedy = Remedy(self._parts, self._recorder)
            self.history = History(self._parts, self._recorder, self.remedy)
            self.pieces = Pieces(self._parts, self.history)
            catalogue = self._catalogue = self._recorder.catalogue
            annals = Annals(self._parts, catalogue)
            self.log = Versions(self._parts, annals).log
            self.blame = Blame(annals, self.history, self._recorder, self._parts.store.objects).lines
            self._pins = TemporaryPins(self._parts)
            self.transcripts = Transcripts(self._parts.store, self.redactor, self._parts.database)
            self.compaction = Compaction(self.transcripts)
            self.sessions = self._open_sessions()
            reversals = Reversals(self._parts, catalogue, self.sessions)
            self._restorer = Restorer(
                self._parts, self._recorder, self.history, reversals, self.remedy, meter
            )
            self._pruner = Pruner(self._parts, catalogue, self._restorer)
            rewinder = Rewinder(self._parts, self._recorder, self.history, self._restorer, self.sessions)
            self._parts.suspicion.done += reinstate(self._parts)
            self._restorer.recover()
            reconcile(self._parts)
            self.sessions.reconcile()
            reversals.catch_up()
        except BaseException:
            self._parts.database.close()
            raise
        self.store, self.room = self._parts.store, self._parts.room
        self.rubbish = Rubbish(self._parts, self._catalogue)
        self.restore = self._restorer.restore
        self.preview = self._restorer.preview
        self.plan_rewind, self.rewind = rewinder.plan, rewinder.carry_out
        self.made_for = self._catalogue.made_for
        self.restored_for = self._restorer.done_for

    def settle(self, is_asked: Callable[[], bool] = lambda: False) -> None:
        """Do what no answer waits for, until somebody asks for something."""
        self._catalogue.list_new()
        self.store.settle(is_asked)
        if not is_asked():
            self._restorer.recover()
        self._recorder.scouting.keep_listings(is_asked)

    def close(self) -> None:
        """Let go of the store."""
        with contextlib.suppress(BacktrailError):  # what it is about is made again
            self.settle()
            self._restorer.close()
        self._parts.database.close()
        self._parts.store.close()

    def start(self, *, force: bool = False) -> Checkpoint:
        """Take the baseline, with everything in it, or give the newest checkpoint where there is one already.

        `force` lifts the size limits.
        """
        if self.history.newest() is not None:
            return self.history.find("@")
        baseline = self._recorder.save(Intent(Kind.BASELINE, "Baseline"), allow_empty=True, force=force)
        return baseline or self.history.find("@")

    def save(
        self, intent: Intent, dirty: Iterable[Path] | None = None, *, allow_empty: bool = False
    ) -> Checkpoint:
        """A checkpoint now. Raises NothingToDo where it would equal the newest one."""
        self._restorer.recover()
        checkpoint = self._recorder.save(intent, dirty, allow_empty=allow_empty)
        if checkpoint is None:
            raise NothingToDo("Nothing has changed since the last checkpoint.")
        return checkpoint

    def undo(self, *, dirty: Iterable[Path] | None = None, request: str | None = None) -> RestoreResult:
        """Bring back the state before the last restore."""
        self._catalogue.catch_up()
        return self._restorer.undo(dirty=dirty, request=request)

    def checkpoints_of(self, session: str) -> tuple[int, ...]:
        """The checkpoints that were made for a session, oldest first."""
        query = Query(limit=-1, session=session)
        rows = self._catalogue.asked(lambda: self._parts.index.select(query))
        return tuple(sorted(number for number, _ in rows))

    def search(self, words: str, session: str | None, limit: int, cursor: str | None) -> HitPage:
        """Where all the words are, in messages, prompts and the paths of every checkpoint; newest first."""
        with contextlib.suppress(StoreFailed):  # of what can't be written now, all the rest is found
            self._catalogue.catch_up()
        return self.sessions.search(words, session, limit, cursor)

    def hints(self, report: Report) -> frozenset[Path] | None:
        """What may have changed according to scouts, whose watches hold from now on; None if that is not enough."""
        return self._recorder.scouting.hints(report)

    def enter_folder(self, path: Path) -> None:
        """Have a folder that has just appeared observed at once."""
        self._recorder.enter_folder(path)

    def unsettled(self) -> frozenset[Path]:
        """What no save could capture since it was last looked at, because it kept changing: look again soon."""
        return self._recorder.unsettled

    def skipped(self) -> list[Skipped]:
        """What is seen and not captured."""
        return self._catalogue.asked(self._parts.skips.all)

    def check_root(self) -> bool:
        """Is it the folder that was looked at last? Raises WorkspaceUnavailable where it can't be looked at."""
        return self._recorder.root.is_known(self._recorder.root.check())

    def adopt_root(self) -> None:
        """From now on, whatever folder is there is the workspace."""
        self._recorder.root.adopt()

    @property
    def files(self) -> int:
        """How many files are captured."""
        return self._parts.table.files

    @property
    def checkpoints(self) -> int:
        """How many there are."""
        return len(self._parts.store.numbers)

    def losses(self, checkpoint: Checkpoint) -> tuple[int, int]:
        """How many files of the checkpoint before are deleted in this one, and how many are rewritten."""
        return losses.count(self._parts.changes_between(checkpoint.parent_tree, checkpoint.tree))

    def totals(self) -> tuple[int, int]:
        """How many files are captured, and their size together."""
        return self._parts.table.files, self._parts.table.size()

    def delete(self, name: str) -> Checkpoint:
        """Let go of a checkpoint, damaged or not."""
        checkpoint = self.history.find_any(name)
        self.drop([checkpoint.number])
        return checkpoint

    def unreadable(self) -> Sequence[int]:
        """The checkpoints that are there and can't be listed, because nothing can be read of them."""
        return sorted(filter(self._parts.store.has, self._parts.suspicion.unlisted))

    def heal(self, reason: str) -> None:
        """Store again what the store lacks and the disk still has; no checkpoint is made."""
        self.remedy.heal(reason)
        self.sessions.heal()

    def heal_if_due(self) -> bool:
        """The same, if damage that was met since calls for it; says whether it was done."""
        reason = self._parts.suspicion.reason
        if reason is None or not self.remedy.is_due:
            return False
        self.heal(reason)
        return True

    def take_healings(self) -> Sequence[Healing]:
        """What was put right since this was asked last."""
        return self._parts.suspicion.take()

    def plan_pruning(self, *, dry_run: bool, spare: int = 0, asked: bool = True) -> PruneResult:
        """What retention would let go now, and why; nothing is changed by asking."""
        return self._pruner.plan(dry_run=dry_run, spare=spare, asked=asked)

    def ranking(self) -> Ranking:
        """All checkpoints, those that are worth the most first."""
        return self._pruner.rank()

    def drop(self, numbers: Sequence[int]) -> None:
        """Let go of many checkpoints, in this order."""
        self._restorer.recover()
        try:
            self._recorder.delete(numbers)
        finally:  # it may fail half-way
            self.rubbish.leave()

    def pin(self, name: str) -> Checkpoint:
        """Keep a checkpoint whatever retention says."""
        number = self.history.find(name).number
        self._pins.decided(number)
        self._parts.store.pin(number)
        return self._parts.store.get(number)

    def unpin(self, name: str) -> Checkpoint:
        """Leave a checkpoint to retention again."""
        number = self.history.find(name).number
        self._pins.decided(number)
        self._parts.store.unpin(number)
        return self._parts.store.get(number)

    def pin_for(self, number: int, seconds: float) -> None:
        """Keep a checkpoint for a while whatever retention says."""
        self._pins.pin(number, time.time() + seconds)

    def _open_sessions(self) -> Sessions:
        parts = self._parts
        return Sessions(
            parts.store,
            parts.database,
            self.transcripts,
            self.redactor,
            lambda: datetime.now(UTC),
            self._catalogue.fell_behind,
        )

    def release_pins(self) -> None:
        """Let go of those that were kept for a while which is over."""
        self._pins.release(time.time())
