"""One attempt to carry out a plan: stage, mark, move, sync, and then either clean up or roll back."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct, field

from backtrail import pathtext
from backtrail.errors import RestoreFailed, RestoreInterrupted
from backtraild.model import Blobs, Path, Placed
from backtraild.restore import rollback
from backtraild.restore.folders import Folders, parent_of
from backtraild.restore.journal import Journal, Step
from backtraild.restore.moves import Site
from backtraild.restore.plan import Conflict, Delete, ModeChange, Plan, Write
from backtraild.restore.staging import Staging
from backtraild.restore.supply import Supply
from backtraild.restore.transaction import Transaction

_INTERRUPTED_HINT = (
    "The journal is kept: it is finished or undone as soon as possible, tried every few seconds."
)


class Outcome(Struct, frozen=True):
    """What a restore did; paths are sorted."""

    written: tuple[Path, ...]
    deleted: tuple[Path, ...]
    mode_changed: tuple[Path, ...]
    unchanged: int
    conflicts: tuple[Conflict, ...]
    # Written ones, as they were put.
    placed: Mapping[Path, Placed] = field(default_factory=dict)


class Steps(Struct, frozen=True):
    """A plan's changes, numbered, each with the staging area of its file system."""

    deletes: tuple[Step, ...]
    mode_changes: tuple[Step, ...]
    writes: tuple[Step, ...]

    def __iter__(self) -> Iterator[Step]:
        yield from self.deletes
        yield from self.mode_changes
        yield from self.writes


def number_steps(plan: Plan, folders: Folders) -> tuple[Steps, tuple[Path, ...]]:
    """Number the plan's changes and find the areas they need; the workspace's root is always the first."""
    tops: dict[Path, int] = {b"": 0}
    areas: dict[Path, int] = {}
    count = 0

    def step(change: Write | Delete | ModeChange) -> Step:
        nonlocal count
        count += 1
        folder, _, name = change.path.rpartition(b"/")
        area = areas.get(folder)
        if area is None:
            area = areas[folder] = tops.setdefault(folders.nearest(folder).top, len(tops))
        new = None if isinstance(change, Delete) else change.new
        return Step(count, change.path, folder, name, change.old, new, area, change.seen)

    # Backwards, so that what lies deepest in a folder goes first.
    deletes = tuple(step(change) for change in reversed(plan.deletes))
    mode_changes = tuple(step(change) for change in plan.mode_changes)
    writes = tuple(step(change) for change in plan.writes)
    return Steps(deletes, mode_changes, writes), tuple(tops)


def effort(plan: Plan) -> int:
    """How much progress an attempt makes: what is written is checked, staged and moved."""
    return len(plan.deletes) + len(plan.mode_changes) + 3 * len(plan.writes)


class Attempt:
    """One generation of staged files and what is done with them."""

    def __init__(
        self,
        folders: Folders,
        staging: Staging,
        steps: Steps,
        journal: Journal,
        progress: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._progress = progress
        self._done = 0
        self._site = Site(folders.calls, folders, staging)
        self._steps = steps
        self._journal = journal

    def prepare(self, blobs: Blobs) -> Supply:
        """Read everything that will be written. Raises StoreDamaged or HostileTree before anything is."""
        supply = Supply(blobs)
        writes = self._counted(self._steps.writes)
        supply.verify((step.path, step.new) for step in writes if step.new is not None)
        return supply

    def stage(self, supply: Supply) -> None:
        """Write all new content into staging, durably. On any failure staging is as empty as before."""
        staging = self._site.staging
        path: Path = b""
        try:
            staging.make(len(self._steps.writes))
            for step in self._counted(self._steps.writes):
                path = step.path
                if step.new is not None:
                    staging.stage(step, step.new, supply.parts(step.new.oid))
            path = b""
            staging.sync()
            self._journal.mark_staged(staging.generation)
        except BaseException as error:
            self._unstage(error)
            if isinstance(error, OSError):
                raise failed(path, error) from error
            raise

    def _unstage(self, cause: BaseException) -> None:
        try:
            rollback.unlink_staged(self._site, self._steps.writes)
        except OSError as error:
            raise RestoreInterrupted(
                f"The restore stopped ({_why(cause)}), and staged files could not be removed: {_why(error)}.",
                _INTERRUPTED_HINT,
            ) from error

    def move(
        self, emptied: Iterable[Path] = (), removable: frozenset[Path] | None = None
    ) -> tuple[Transaction, Site]:
        """Carry out all steps, or none. Raises RestoreInterrupted if neither was possible."""
        transaction = Transaction(self._site, removable)
        try:
            self._run(transaction, emptied)
        except BaseException as error:
            self._undo(transaction, error)
            if isinstance(error, OSError):
                raise failed(transaction.current, error) from error
            raise
        return transaction, self._site

    def _run(self, transaction: Transaction, emptied: Iterable[Path]) -> None:
        for step in self._counted(self._steps.deletes):
            transaction.delete(step)
        for step in self._counted(self._steps.mode_changes):
            transaction.change_mode(step)
        gone = {parent_of(path) for path in transaction.deleted} | set(emptied)
        transaction.remove_emptied(gone, (step.folder for step in self._steps.writes))
        for step in self._counted(self._steps.writes):
            transaction.write(step)
        transaction.sync()

    def _counted(self, steps: Iterable[Step]) -> Iterator[Step]:
        for step in steps:
            yield step
            self._done += 1
            self._progress(self._done)

    def _undo(self, transaction: Transaction, cause: BaseException) -> None:
        try:
            transaction.roll_back()
            rollback.discard_staged(self._site, self._steps)
        except BaseException as error:
            raise RestoreInterrupted(
                f"The restore stopped at {pathtext.to_text(transaction.current)} ({_why(cause)}) "
                f"and could not be undone: {_why(error)}.",
                _INTERRUPTED_HINT,
            ) from error


# Called with what was done when the files are in place, before the journal goes. A crash before it returns
# leads to recovery, which calls it again: what it records is never lost, and may be recorded already.
Recording = Callable[[Outcome], object]


def not_recorded(_: Outcome) -> None:
    """For a caller who keeps no record."""


def finish(transaction: Transaction, staging: Staging) -> None:
    """Drop the old files, then staging. Recovery finishes a crash in here, and what a power cut brings back."""
    try:
        transaction.discard_old()
    except OSError:
        transaction.discard_old()  # once more: a single failure must not leave old copies behind
    remove_folders(staging)


def close_down(staging: Staging, end: Callable[[], object]) -> None:
    """Remove the staging folders for good, and then the journal, which is the `end`."""
    remove_folders(staging)
    try:
        staging.sync_above()
    except OSError:
        staging.sync_above()
    end()


def remove_folders(staging: Staging) -> None:
    """Remove the staging folders, trying twice."""
    try:
        staging.remove_folders()
    except OSError:
        staging.remove_folders()


def interrupted(error: OSError) -> RestoreInterrupted:
    """The error for a restore that is complete but could not be tidied up."""
    return RestoreInterrupted(
        f"The files are in place, but what the restore left behind could not be removed: {_why(error)}.",
        _INTERRUPTED_HINT,
    )


def failed(path: Path, error: OSError) -> RestoreFailed:
    """The error for a restore that changed nothing, because it was undone or had not begun."""
    where = f" at {pathtext.to_text(path)}" if path else ""
    return RestoreFailed(
        f"The restore stopped{where}: {_why(error)}. Nothing was changed.",
        "Remove the cause and restore again.",
    )


def _why(error: BaseException) -> str:
    return error.strerror or str(error) if isinstance(error, OSError) else type(error).__name__
