"""Turning a look at the disk into a checkpoint."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from backtrail.errors import StoreDamaged, StoreFailed, WorkspaceUnavailable
from backtraild.deputy import Assistance
from backtraild.ignore import FolderRules
from backtraild.meter import Meter
from backtraild.model import Changes, Checkpoint, Intent, Path, Placed
from backtraild.scan import Observer, Scanner, ScanResult, crawl
from backtraild.state import TableLost
from backtraild.store import (
    LISTED_CHANGES,
    ContentSource,
    Draft,
    PackWriter,
    PendingContent,
    check_message,
    check_request,
    describe,
    expect_folders,
    summary,
)
from backtraild.workspace.catalogue import Catalogue
from backtraild.workspace.forgiving import ForgivingContent
from backtraild.workspace.healer import Healer
from backtraild.workspace.parts import Parts, reconcile
from backtraild.workspace.passing import rolled_back
from backtraild.workspace.root import Root
from backtraild.workspace.scouting import Scouting


class Look(Struct, frozen=True):
    """The disk compared with the newest checkpoint, without saving anything."""

    changes: Changes
    content: PendingContent


class Recorder:
    """The only writer of a workspace's checkpoints."""

    def __init__(self, parts: Parts, observer: Observer, meter: Meter) -> None:
        self._parts = parts
        self._meter = meter
        self._observer = observer
        self.catalogue = Catalogue(parts)
        self._rules = FolderRules.for_root(parts.config.exclude_patterns)
        self.root = Root(parts.root, parts.database, parts.table)
        self.scouting = Scouting(parts, self._rules, observer)
        self.unsettled: frozenset[Path] = frozenset()
        self._made: Checkpoint | None = None

    def save(
        self,
        intent: Intent,
        dirty: Iterable[Path] | None = None,
        *,
        allow_empty: bool = False,
        force: bool = False,
        placed: Mapping[Path, Placed] | None = None,
    ) -> Checkpoint | None:
        """A durable checkpoint of the disk as it is now; None if nothing changed and nothing was forced.

        `dirty` names the paths that may have changed; without it everything is looked at. Files that were just
        `placed` from the store need not be read.
        """
        check_message(intent.message or "")
        if intent.request is not None:
            check_request(intent.request)
        for _ in range(2):
            try:
                return self._save(intent, dirty, allow_empty=allow_empty, force=force, placed=placed)
            except TableLost:
                # Its rows come from the newest checkpoint now and match no file: everything is read again.
                dirty = None
            except StoreDamaged as error:
                if self._parts.suspicion.reason is not None:
                    raise
                self._parts.suspicion.raise_for(error.message)
        return self._save(intent, dirty, allow_empty=allow_empty, force=force)

    def heal(self, reason: str) -> None:
        """Have the store hold again what it lacks and the disk still has; no checkpoint is made."""
        parts, healer = self._parts, Healer(self._parts)
        parts.suspicion.raise_for(reason)
        self.root.check()
        self._agreed_base()
        healer.mend()
        with self._pack(healing=True) as pack, rolled_back(parts.database):
            healer.begin(pack)
            self._scan(pack, None, enforce_limits=False)
            parts.store.finish(pack)
            healer.end(pack, partial=parts.suspicion.partial)

    def _save(
        self,
        intent: Intent,
        dirty: Iterable[Path] | None,
        *,
        allow_empty: bool,
        force: bool,
        placed: Mapping[Path, Placed] | None = None,
    ) -> Checkpoint | None:
        folder = self.root.check()
        # Another folder in the workspace's place: what is dirty in it is not what was dirty in the old one.
        dirty = frozenset(dirty) if self.root.is_known(folder) and dirty is not None else None
        checkpoint: Checkpoint | None = None
        parts = self._parts
        base = self._agreed_base()
        healer = None
        if parts.suspicion.reason is not None:
            dirty, placed, healer = None, None, Healer(parts)
            healer.mend()
        try:
            with parts.database.transaction(), self._pack(healing=healer is not None) as pack:
                if healer is not None:
                    healer.begin(pack)
                if base is not None and dirty is not None:
                    expect_folders(parts.store.objects, base, dirty)
                found = self._scan(pack, dirty, enforce_limits=base is None and not force, placed=placed)
                self._check_still(folder)
                self.root.remember(folder)
                if dirty is None:
                    self.scouting.looked_at_everything()
                if healer is not None and not allow_empty and healer.tree(pack).hex() == base:
                    # What the rows lacked is on the disk as the newest checkpoint has it: nothing has changed.
                    parts.store.finish(pack)
                    parts.table.adopt(base, found.changes)
                elif found.changes or allow_empty or base is None:
                    checkpoint = self._commit(pack, base, found.changes, intent, healer)
                    parts.table.adopt(checkpoint.tree, found.changes)
                    if healer is None:  # else they are told against rows, not against a tree
                        parts.steps.keep(base, checkpoint.tree, found.changes)
                    self.catalogue.add_soon(checkpoint)
                    self._made = checkpoint
                if healer is not None:
                    healer.end(pack, partial=False)
        except StoreFailed:
            if checkpoint is None:
                raise
            # The checkpoint is durable, only the table is behind: it catches up when it is needed next.
            self.catalogue.fell_behind()
        self.unsettled = found.unsettled | _not_looked_at(self.unsettled, dirty)
        return checkpoint

    def delete(self, numbers: Sequence[int]) -> None:
        """Let go of checkpoints."""
        self.catalogue.remove(numbers)
        try:
            self._parts.store.delete_many(numbers)
        except BaseException:
            self.catalogue.fell_behind()  # those that are left get their rows again
            raise

    def take_made(self) -> Checkpoint | None:
        """The last checkpoint that was made since this was asked; None if none was."""
        made, self._made = self._made, None
        return made

    @contextlib.contextmanager
    def look(self) -> Iterator[Look]:
        """Compare the whole disk with the newest checkpoint and leave no trace of it."""
        self.root.check()
        base = self._agreed_base()
        parts = self._parts
        with self._pack() as pack, rolled_back(parts.database):
            found = self._scan(pack, None, enforce_limits=False)
            parts.table.adopt(base or "", found.changes)  # so that files are counted as after a save
            yield Look(found.changes, PendingContent(pack, parts.store.objects))

    def enter_folder(self, path: Path) -> None:
        """Have a folder that has just appeared observed, with all that is in it, before it is looked at."""
        crawl(self._parts.root, self._rules, path, self._observer)

    def _check_still(self, folder: str) -> None:
        """A disk that was unmounted during the look left nothing to see, which is not what was in the folder."""
        if self.root.check() != folder:
            raise WorkspaceUnavailable("The workspace's folder was exchanged while it was looked at.")

    def _agreed_base(self) -> str | None:
        """The newest checkpoint's tree, which the stat table describes as well."""
        self.catalogue.put_right()
        base = self._parts.store.newest_tree()
        if base != self._parts.table.tree:
            reconcile(self._parts)
        return base

    @contextlib.contextmanager
    def _pack(self, *, healing: bool = False) -> Iterator[PackWriter]:
        pack = self._parts.store.healing_pack() if healing else self._parts.store.new_pack()
        try:
            yield pack
        finally:
            pack.abandon()

    def _scan(
        self,
        pack: PackWriter,
        dirty: Iterable[Path] | None,
        *,
        enforce_limits: bool,
        placed: Mapping[Path, Placed] | None = None,
    ) -> ScanResult:
        try:
            with Assistance() as deputy:
                scanner = self._scanner(pack, deputy, dirty, enforce_limits=enforce_limits, placed=placed)
                return scanner.everything() if dirty is None else scanner.paths(dirty)
        except OSError as error:
            raise StoreFailed(
                f"The workspace could not be captured: {error.strerror or error}.",
                "Nothing was acknowledged. Look at free space and permissions, then try again.",
            ) from error

    def _scanner(
        self,
        pack: PackWriter,
        deputy: Assistance,
        dirty: Iterable[Path] | None,
        *,
        enforce_limits: bool,
        placed: Mapping[Path, Placed] | None,
    ) -> Scanner:
        parts = self._parts
        return Scanner(
            parts.root,
            self._rules,
            parts.table,
            parts.skips,
            pack,
            parts.config.limits,
            observer=self._observer,
            deputy=deputy,
            enforce_limits=enforce_limits,
            progress=self._meter.begin("looking", None if dirty is not None else parts.table.files or None),
            placed=placed,
            expect=parts.store.objects.expect,
        )

    def _commit(
        self, pack: PackWriter, base: str | None, changes: Changes, intent: Intent, healer: Healer | None
    ) -> Checkpoint:
        parts = self._parts
        content: ContentSource = PendingContent(pack, parts.store.objects)
        known = parts.steps.leading_to(base, changes)
        if healer is None and known is not None:
            tree = parts.store.reuse_tree(pack, known)
        elif healer is None:
            tree = parts.store.write_tree(pack, base, changes)
        else:
            tree, content = healer.tree(pack), ForgivingContent(content)
        told = describe(changes, content, LISTED_CHANGES)
        draft = Draft(
            kind=intent.kind,
            message=_told(intent, summary(told.files, told.count, told.statuses)),
            timestamp=datetime.now(UTC),
            files_changed=told.files,
            files_changed_count=told.count,
            insertions=told.insertions,
            deletions=told.deletions,
            skipped=parts.skips.all(LISTED_CHANGES),
            parent=parts.store.newest,
            parent_tree=base,
            session=intent.session,
            turn=intent.turn,
            metadata=dict(intent.metadata),
            request=intent.request,
        )
        return parts.store.commit(pack, tree, draft)


def _told(intent: Intent, what_happened: str) -> str:
    if intent.message is not None:
        return intent.message
    return f"{what_happened} ({intent.circumstance})" if intent.circumstance else what_happened


def _not_looked_at(noted: frozenset[Path], dirty: frozenset[Path] | None) -> frozenset[Path]:
    """Those of the noted paths that a look at the dirty ones, or at everything, did not reach."""
    if dirty is None or b"" in dirty:
        return frozenset()
    folders = tuple(path + b"/" for path in dirty)
    return frozenset(path for path in noted - dirty if not path.startswith(folders))
