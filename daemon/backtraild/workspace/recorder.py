"""Turning a look at the disk into a checkpoint."""

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from backtrail.errors import StoreFailed
from backtraild.ignore import FolderRules
from backtraild.model import Changes, Checkpoint, Intent, Path
from backtraild.scan import Scanner, ScanResult
from backtraild.store import (
    LISTED_CHANGES,
    Draft,
    PackWriter,
    PendingContent,
    check_message,
    describe,
    summary,
)
from backtraild.workspace.parts import Parts, reconcile


@dataclass(frozen=True, slots=True)
class Look:
    """The disk compared with the newest checkpoint, without saving anything."""

    changes: Changes
    content: PendingContent


class Recorder:
    """The only writer of a workspace's checkpoints."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._rules = FolderRules.for_root(parts.config.exclude_patterns)
        self.unsettled: frozenset[Path] = frozenset()

    def save(
        self,
        intent: Intent,
        dirty: Iterable[Path] | None = None,
        *,
        allow_empty: bool = False,
        force: bool = False,
    ) -> Checkpoint | None:
        """A durable checkpoint of the disk as it is now; None if nothing changed and nothing was forced.

        `dirty` names the paths that may have changed; without it everything is looked at.
        """
        check_message(intent.message or "")
        checkpoint: Checkpoint | None = None
        parts = self._parts
        base = self._agreed_base()
        try:
            with parts.database.transaction(), self._pack() as pack:
                found = self._scan(pack, dirty, enforce_limits=base is None and not force)
                if found.changes or allow_empty or base is None:
                    checkpoint = self._commit(pack, base, found.changes, intent)
                    parts.table.adopt(checkpoint.tree, found.changes)
                    parts.index.add(checkpoint)
        except StoreFailed:
            if checkpoint is None:
                raise
            # The checkpoint is durable, only the table is behind: it is brought up to date at the next look.
        self.unsettled = found.unsettled
        return checkpoint

    @contextlib.contextmanager
    def look(self) -> Iterator[Look]:
        """Compare the whole disk with the newest checkpoint and leave no trace of it."""
        self._agreed_base()
        parts = self._parts
        with self._pack() as pack, _rolled_back(parts):
            found = self._scan(pack, None, enforce_limits=False)
            yield Look(found.changes, PendingContent(pack, parts.store.objects))

    def _agreed_base(self) -> str | None:
        """The newest checkpoint's tree, which the stat table describes as well."""
        base = self._parts.store.newest_tree()
        if base != self._parts.table.tree:
            reconcile(self._parts)
        return base

    @contextlib.contextmanager
    def _pack(self) -> Iterator[PackWriter]:
        pack = self._parts.store.new_pack()
        try:
            yield pack
        finally:
            pack.abandon()

    def _scan(self, pack: PackWriter, dirty: Iterable[Path] | None, *, enforce_limits: bool) -> ScanResult:
        parts = self._parts
        scanner = Scanner(
            parts.root,
            self._rules,
            parts.table,
            parts.skips,
            pack,
            parts.config.limits,
            enforce_limits=enforce_limits,
        )
        try:
            return scanner.everything() if dirty is None else scanner.paths(dirty)
        except OSError as error:
            raise StoreFailed(
                f"The workspace could not be captured: {error.strerror or error}.",
                "Nothing was acknowledged. Look at free space and permissions, then try again.",
            ) from error

    def _commit(self, pack: PackWriter, base: str | None, changes: Changes, intent: Intent) -> Checkpoint:
        parts = self._parts
        tree = parts.store.write_tree(pack, base, changes)
        told = describe(changes, PendingContent(pack, parts.store.objects))
        count = len(told.files)
        draft = Draft(
            kind=intent.kind,
            message=summary(told.files, count) if intent.message is None else intent.message,
            timestamp=datetime.now(UTC),
            files_changed=told.files,
            files_changed_count=count,
            insertions=told.insertions,
            deletions=told.deletions,
            skipped=parts.skips.all(LISTED_CHANGES),
            parent=parts.store.newest,
            parent_tree=base,
            session=intent.session,
            turn=intent.turn,
            metadata=dict(intent.metadata),
        )
        return parts.store.commit(pack, tree, draft)


@contextlib.contextmanager
def _rolled_back(parts: Parts) -> Iterator[None]:
    """A transaction that ends as if it had not been."""
    with contextlib.suppress(_EndOfLook), parts.database.transaction():
        yield
        raise _EndOfLook


class _EndOfLook(Exception):
    """Leaves a transaction without keeping it."""
