"""After a crash: finish the restore that the journal describes, or undo it, by what is on the disk.

The journal tells the content before and after, so each path is judged by its content: new is done, old is
carried out, anything else is somebody's and stays. What lies in staging and is neither old nor new content
was taken from somebody by a race just before the crash, and goes back first.
"""

import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress

from backtrail.errors import (
    BacktrailError,
    RestoreInterrupted,
    StoreDamaged,
    WorkspaceUnavailable,
)
from backtrail.pathtext import to_text
from backtraild.model import Blobs, Change, Entry, ObjectId, Path
from backtraild.restore.attempt import (
    Attempt,
    Outcome,
    Recording,
    Steps,
    close_down,
    finish,
    not_recorded,
    remove_folders,
)
from backtraild.restore.calls import OPEN_FILE, OS, UNSUPPORTED, Calls
from backtraild.restore.content import look, pieces, same_content
from backtraild.restore.folders import Folders, with_all_above
from backtraild.restore.journal import Journal, Record, Step, forget
from backtraild.restore.moves import Site
from backtraild.restore.plan import Conflict, Delete, ModeChange, Plan, Reason, Write, plan_in
from backtraild.restore.staging import Staging


def recover(
    journal: str,
    root: str | bytes,
    blobs: Blobs,
    *,
    record: Recording = not_recorded,
    trash: str | None = None,
    calls: Calls = OS,
) -> Outcome | None:
    """Finish the restore that a crash left behind; None if there was none or it was undone.

    `record` is called as by `apply`, perhaps for the second time; `trash` is as there. Raises WorkspaceUnavailable if
    the folder is not there or is another one, and RestoreInterrupted if the restore can be neither finished nor
    undone now. The journal then stays, and this can be called again.
    """
    book = Journal(journal, calls)
    book.drop_half()
    found = book.read()
    if found is None:
        _clear_away(book, root)
        return None
    with _staging_of(found, root, trash, calls) as (folders, staging):
        _refuse_another_folder(folders, staging, found)
        outcome = _Recovery(folders, staging, found, book, blobs).run()
        if outcome is not None:
            record(outcome)
        close_down(staging, book.remove)
        return outcome


def conclude(
    journal: str, root: str | bytes, blobs: Blobs, *, trash: str | None = None, calls: Calls = OS
) -> None:
    """End a restore that is recorded: have it leave nothing behind, and announce the next one.

    Files may have been edited since: they stay. Raises RestoreInterrupted where that is not possible now.
    """
    book = Journal(journal, calls)
    found = book.read()
    if found is None:
        return
    try:
        with _staging_of(found, root, trash, calls) as (folders, staging):
            # Old files were dropped and the folder was removed, but nobody waited until that was durable.
            _Recovery(folders, staging, found, book, blobs).tidy_up()
            close_down(staging, book.renew)
    except WorkspaceUnavailable:
        forget(journal)  # what is recorded can be looked at without the folder


def _clear_away(journal: Journal, root: str | bytes) -> None:
    """Remove what there is of a restore that never came to move anything, or was only announced."""
    name = journal.abandoned()
    if name is None:
        journal.set_aside()
        return
    none = Record(os.fsencode(root), 0, 0, name, (b"",), (), 0, {}, ())
    with suppress(WorkspaceUnavailable), _staging_of(none, root, None, journal.calls) as (_, staging):
        _drop_all_but(staging, frozenset())
        close_down(staging, journal.remove)


@contextmanager
def _staging_of(
    record: Record, root: str | bytes, trash: str | None, calls: Calls
) -> Iterator[tuple[Folders, Staging]]:
    """The staging folders that a journal names, as far as they are there."""
    with Folders(calls, root) as folders:
        staging = Staging(folders, record.staging, record.areas, trash)
        try:
            staging.enter()
            yield folders, staging
        except OSError as error:
            raise RestoreInterrupted(
                f"The interrupted restore could not be finished: {error.strerror}.",
                "Remove the cause; Backtrail tries again every few seconds.",
            ) from error
        finally:
            staging.close()


def _refuse_another_folder(folders: Folders, staging: Staging, record: Record) -> None:
    # Device numbers may change when the machine starts; a staging folder of that random name proves it too.
    if folders.ino != record.ino and not staging.is_there:
        raise WorkspaceUnavailable(
            f"The folder {to_text(record.root)} is not the one in which a restore was interrupted.",
            "Put the original folder back, or remove the workspace from Backtrail and add it again.",
        )


class _Recovery:
    def __init__(
        self, folders: Folders, staging: Staging, record: Record, journal: Journal, blobs: Blobs
    ) -> None:
        self._folders = folders
        self._staging = staging
        self._record = record
        self._journal = journal
        self._site = Site(folders.calls, folders, staging)
        self._steps = {step.number: step for step in record.steps}
        self._blobs = Salvage(blobs, self._site)

    def run(self) -> Outcome | None:
        _drop_all_but(self._staging, self._record.staged)
        if not self._record.staged:
            # Nothing had left staging: the workspace is as it was, and the restore did not happen.
            remove_folders(self._staging)
            return None
        self._settle()
        self._staging.generation = max(self._record.staged) + 1
        forward = {step.path: Change(step.old, step.new) for step in self._record.steps}
        gone = [step.folder for step in self._record.steps if step.new is None]
        try:
            conflicts = self._attempt(forward, frozenset(with_all_above(gone)), None)
        except (RestoreInterrupted, WorkspaceUnavailable):
            raise
        except BacktrailError as error:
            self._go_back(error)
            return None
        return self._outcome(conflicts)

    def tidy_up(self) -> None:
        """Everything is in its place: what is in staging all the same goes, unless it is somebody's."""
        self._settle()
        self._blobs.drop()

    def _settle(self) -> None:
        """Give back what is somebody's, and keep as spare content only what the store cannot give."""
        for area, name in list(self._staging.contents()):
            parsed = _parse(name)
            step = None if parsed is None else self._steps.get(parsed[1])
            if step is None or step.area != area:
                continue  # not put there by us: it stays, and the folder with it
            entry = self._site.staged(step, name)
            if not (same_content(entry, step.old) or same_content(entry, step.new)):
                self._return_to_owner(step, name)
            elif entry is not None and not self._blobs.spare(entry, step, name):
                self._folders.calls.unlink(name, dir_fd=self._staging.fd(step))

    def _return_to_owner(self, step: Step, name: bytes) -> None:
        try:
            folder = self._folders.open(step.folder)
            found = look(self._folders.calls, folder.fd, step.name)
            if found is None:
                self._site.put(step, name)
            elif same_content(found.entry, step.new):
                self._exchange(step, name)
            else:
                self._site.keep_aside(step, name)
        except (FileExistsError, FileNotFoundError):
            self._site.keep_aside(step, name)

    def _exchange(self, step: Step, name: bytes) -> None:
        try:
            self._site.exchange(step, name)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                raise
            self._site.keep_aside(step, name)
            return
        if not same_content(self._site.staged(step, name), step.new):
            self._site.keep_aside(step, name)
        else:
            self._folders.calls.unlink(name, dir_fd=self._staging.fd(step))

    def _attempt(
        self, changes: Mapping[Path, Change], emptied: frozenset[Path], removable: frozenset[Path] | None
    ) -> tuple[Conflict, ...]:
        plan = plan_in(self._folders, changes, 0)
        if any(conflict.reason is Reason.UNREADABLE for conflict in plan.conflicts):
            # Leaving a path out because of one bad moment would leave half a restore: look once more.
            plan = plan_in(self._folders, changes, 0)
        attempt = Attempt(self._folders, self._staging, self._renumber(plan), self._journal)
        attempt.stage(attempt.prepare(self._blobs))
        transaction, site = attempt.move(emptied.union(plan.cleared), removable)
        self._blobs.drop()
        finish(transaction, self._staging)
        return (*plan.conflicts, *transaction.conflicts, *site.kept)

    def _go_back(self, cause: BacktrailError) -> None:
        """Forward is barred (disk full, damaged store): put the old content back instead."""
        self._staging.enter()
        self._staging.generation += 1
        backward = {step.path: Change(step.new, step.old) for step in self._record.steps}
        made = frozenset(self._record.folders)
        try:
            self._attempt(backward, made, made)
        except BacktrailError as error:
            raise RestoreInterrupted(
                f"The interrupted restore could be neither finished ({cause.message}) "
                f"nor undone: {error.message}",
                "Remove the cause; Backtrail tries again every few seconds.",
            ) from error

    def _renumber(self, plan: Plan) -> Steps:
        """The plan's changes under the numbers that the journal knows them by."""
        known = {step.path: step for step in self._record.steps}

        def step(change: Write | Delete | ModeChange) -> Step:
            new = None if isinstance(change, Delete) else change.new
            return known[change.path]._replace(old=change.old, new=new, seen=change.seen)

        return Steps(
            tuple(step(change) for change in reversed(plan.deletes)),
            tuple(step(change) for change in plan.mode_changes),
            tuple(step(change) for change in plan.writes),
        )

    def _outcome(self, conflicts: tuple[Conflict, ...]) -> Outcome:
        everything = {*conflicts, *self._site.kept}
        left = {conflict.path for conflict in everything}
        done = sorted(
            (step for step in self._record.steps if step.path not in left), key=lambda step: step.path
        )
        written = [step for step in done if step.new is not None]
        return Outcome(
            tuple(step.path for step in written if not _is_mode_only(step)),
            tuple(step.path for step in done if step.new is None),
            tuple(step.path for step in written if _is_mode_only(step)),
            self._record.unchanged,
            tuple(sorted(everything)),
        )


def _drop_all_but(staging: Staging, staged: Collection[int]) -> None:
    """Delete what was still being staged: it never left staging, so it is ours, even if it is torn."""
    for area, name in list(staging.contents()):
        parsed = _parse(name)
        if parsed is not None and parsed[0] not in staged:
            staging.calls.unlink(name, dir_fd=staging.area_fd(area))


class Salvage:
    """Content from the store or, where the store is damaged, from what an interrupted restore had staged."""

    def __init__(self, blobs: Blobs, site: Site) -> None:
        self._blobs = blobs
        self._site = site
        self._spares: dict[ObjectId, tuple[Step, bytes, Entry]] = {}
        self._sound: set[ObjectId] = set()

    def spare(self, entry: Entry, step: Step, name: bytes) -> bool:
        """Keep a staged file if the store cannot give its content. False if it is not needed."""
        if entry.oid in self._sound or entry.oid in self._spares:
            return False
        try:
            for _ in self._blobs.chunks(entry.oid):
                pass
        except StoreDamaged:
            self._spares[entry.oid] = (step, name, entry)
            return True
        self._sound.add(entry.oid)
        return False

    def drop(self) -> None:
        """Delete the spare files: what they were kept for is done."""
        for step, name, _ in self._spares.values():
            with suppress(FileNotFoundError):
                self._site.calls.unlink(name, dir_fd=self._site.staging.fd(step))
        self._spares.clear()

    def size(self, oid: ObjectId) -> int:
        """Length of the content."""
        return sum(map(len, self.chunks(oid))) if oid in self._spares else self._blobs.size(oid)

    def chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """The content, piece by piece."""
        if oid not in self._spares:
            yield from self._blobs.chunks(oid)
            return
        step, name, _ = self._spares[oid]
        yield from _staged_content(self._site, step, name)


def _staged_content(site: Site, step: Step, name: bytes) -> Iterator[bytes]:
    folder = site.staging.fd(step)
    try:
        yield site.calls.readlink(name, dir_fd=folder)
        return
    except OSError:
        pass  # no symlink
    descriptor = site.calls.open(name, OPEN_FILE, dir_fd=folder)
    try:
        yield from pieces(site.calls, descriptor, site.calls.fstat(descriptor).st_size)
    finally:
        site.calls.close(descriptor)


def _parse(name: bytes) -> tuple[int, int] | None:
    """Generation and step number of a staged name; None for a name that is not ours."""
    generation, dash, number = name.removesuffix(b".old").partition(b"-")
    if not (dash and generation.isdigit() and number.isdigit()):
        return None
    return int(generation), int(number)


def _is_mode_only(step: Step) -> bool:
    return step.old is not None and step.new is not None and same_content(step.old, step.new)
