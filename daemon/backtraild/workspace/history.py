"""Reading a workspace's checkpoints: by name, as a list, one file of one, two compared."""

import contextlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct
from msgspec.structs import replace

from backtrail.errors import BacktrailError, StoreDamaged, UnknownPath, UsageError
from backtrail.pathtext import to_text
from backtraild import naming
from backtraild.model import (
    TREE_MODE,
    Change,
    Changes,
    Checkpoint,
    Diff,
    Entry,
    FileChange,
    Kind,
    Path,
    is_below,
)
from backtraild.state import Query
from backtraild.store import (
    Comparisons,
    ContentSource,
    Kept,
    RecentContent,
    describe,
    measure,
    pairs,
    patch_text,
    restrict,
    trees,
)
from backtraild.workspace import foresight
from backtraild.workspace.catalogue import Catalogue
from backtraild.workspace.forgiving import ForgivingContent
from backtraild.workspace.parts import Parts
from backtraild.workspace.recorder import Recorder
from backtraild.workspace.remedy import Remedy

DIFFS_BYTES = 1024 * 1024
_FILE_BYTES = 300  # what a diff keeps of a file beside the text
_BATCH = 100
_UNKNOWN = datetime(1970, 1, 1, tzinfo=UTC)


class Page(Struct, frozen=True):
    """Some checkpoints, newest first; `next` is given to the next query where there are more."""

    checkpoints: tuple[Checkpoint, ...]
    next: int | None


class History:
    """What is in the store, and how the disk differs from it."""

    def __init__(self, parts: Parts, recorder: Recorder, remedy: Remedy) -> None:
        self._parts = parts
        self._recorder = recorder
        self._catalogue = recorder.catalogue
        self._remedy = remedy
        self._comparisons = Comparisons()
        self._diffs: Kept[tuple[str, str, tuple[Path, ...], bool], Diff] = Kept(DIFFS_BYTES)
        self._last_made: Checkpoint | None = None  # to be the one before the next

    def get(self, name: str) -> Checkpoint:
        """A checkpoint by any of its names, with all of its changes where those can still be told."""
        return self._complete(self.find(name))

    def find(self, name: str) -> Checkpoint:
        """A checkpoint by any of its names, with at most the first thousand changes."""
        return self._parts.store.get(self.number(name))

    def recall(self, number: int) -> Checkpoint:
        """The same by its number, from memory if this process made it or has read it."""
        return self._parts.store.recall(number)

    def number(self, name: str) -> int:
        """The number of a checkpoint, which may be damaged."""
        return naming.resolve(name, _Names(self._parts, self._catalogue), datetime.now(UTC))

    def find_any(self, name: str) -> Checkpoint:
        """The same, with what is left to be told of one that is damaged."""
        number = self.number(name)
        try:
            return self._parts.store.get(number)
        except StoreDamaged as error:
            commit_id = self._parts.store.commit_of(number) or ""
            return Checkpoint(
                number, commit_id, "", Kind.AUTO, f"Damaged: {error.message}", _UNKNOWN, (), 0, 0, 0
            )

    def newest(self) -> int | None:
        """The newest checkpoint's number; None where there is none."""
        return self._parts.store.newest

    def numbers_after(self, number: int) -> Sequence[int]:
        """The checkpoints that came after a number, oldest first."""
        numbers = self._parts.store.numbers
        return numbers[bisect_right(numbers, number) :]

    def list(self, query: Query) -> Page:
        """Checkpoints that answer a query. Their lists of changes may be cut short."""
        wanted = query.limit
        if wanted < 1:
            raise UsageError(f"A list of {wanted} checkpoints makes no sense.", "Ask for 1 or more.")
        found: list[Checkpoint] = []
        for checkpoint in self._matching(query):
            if len(found) == wanted:
                return Page(tuple(found), found[-1].number)
            found.append(checkpoint)
        return Page(tuple(found), None)

    def touching(self, path: Path, first: int) -> Iterator[Checkpoint]:
        """Checkpoints from a number on that changed a path or something below it, oldest first."""
        while rows := self._touching(path, first):
            for number, certain in rows:
                first = number + 1
                checkpoint = self._listed(number)
                if checkpoint is not None and (certain or self._touches(checkpoint, path)):
                    yield checkpoint

    def _touching(self, path: Path, first: int) -> Sequence[tuple[int, bool]]:
        return self._catalogue.asked(lambda: self._parts.index.touching(path, first, _BATCH))

    def changed(self, checkpoint: Checkpoint, path: Path) -> tuple[FileChange, ...]:
        """What a checkpoint changed at a path or below it."""
        if not checkpoint.files_changed_complete and self._parent_tree_is_left(checkpoint):
            with contextlib.suppress(StoreDamaged):  # of a pruned checkpoint's trees, only some may be left
                changes = self._parts.changes_between(checkpoint.parent_tree, checkpoint.tree)
                return describe(restrict(changes, [path]), self._parts.store.objects).files
        return tuple(change for change in checkpoint.files_changed if _is_of(change, path))

    def read(self, name: str, path: Path) -> Iterator[bytes]:
        """One file's content, piece by piece; a symlink's is where it points."""
        checkpoint = self.find(name)
        entry = self.entry(checkpoint, path)
        if entry is None or entry.mode == TREE_MODE:
            what = "a folder, not a file" if entry else "nothing"
            raise UnknownPath(f"Checkpoint {checkpoint.number} holds {what} at {to_text(path)}.")
        return self._parts.store.objects.chunks(entry.oid)

    def entry(self, checkpoint: Checkpoint, path: Path) -> Entry | None:
        """What a checkpoint holds at a path: a file, a folder or nothing."""
        return trees.find(bytes.fromhex(checkpoint.tree), path, self._parts.store.objects.read_tree)

    def diff(
        self, older: str, newer: str | None = None, paths: Sequence[Path] = (), *, text: bool = True
    ) -> Diff:
        """How two checkpoints differ, or a checkpoint and the disk; without `text`, no patch is made."""
        before = self._parts.store.recall(self.number(older))
        if newer is not None:
            return self._diff_of_two(before, self._parts.store.recall(self.number(newer)), tuple(paths), text)
        with self._recorder.look() as look:
            changes = compose(self.changes_since(before), look.changes)
            return self._diff(before.id, None, restrict(changes, paths), look.content, text)

    def foresee(self) -> None:
        """Have the newest checkpoint's own diff at hand, once it is made and if that is small."""
        made, last = self._recorder.take_made(), self._last_made
        self._last_made = made or last
        store = self._parts.store
        if made is None or made.parent is None or not (store.has(made.parent) and store.has(made.number)):
            return
        changes = self._parts.steps.between(made.parent_tree, made.tree)
        if not foresight.is_worthwhile(made, changes, store.objects.recent):
            return
        # What is wrong is for those who ask, and may never concern anybody.
        with contextlib.suppress(BacktrailError):
            # The one before was mostly made here as well: its ref need not be read for this.
            before = last if last and last.number == made.parent else store.recall(made.parent)
            if before.tree == made.parent_tree:  # else that one was damaged when this one was made
                self._diff_of_two(before, made, (), True)

    def changes_since(self, checkpoint: Checkpoint) -> Changes:
        """How the newest checkpoint differs from an earlier one."""
        newest = self._parts.store.newest_tree()
        return {} if newest is None else self._parts.changes_between(checkpoint.tree, newest)

    def _diff_of_two(
        self, before: Checkpoint, after: Checkpoint, paths: tuple[Path, ...], text: bool
    ) -> Diff:
        """Two checkpoints differ the same for ever, and are looked at more than once."""
        question = before.id, after.id, paths, text
        found = self._diffs.get(question)
        if found is None:
            changes = restrict(self._parts.changes_between(before.tree, after.tree), paths)
            content = RecentContent(self._parts.store.objects)
            found = self._diff(before.id, after.id, changes, content, text)
            self._diffs.keep(question, found, len(found.text) + _FILE_BYTES * (1 + len(found.files)))
        return found

    def _diff(
        self, from_id: str, to_id: str | None, changes: Changes, content: ContentSource, text: bool
    ) -> Diff:
        paired = pairs(changes, content)
        compare = self._comparisons.of(content) if text else None
        told = measure(paired, content, compare)
        patch = patch_text(paired, compare) if compare else ""
        return Diff(from_id, to_id, told.files, told.insertions, told.deletions, patch)

    def _matching(self, query: Query) -> Iterator[Checkpoint]:
        """Checkpoints one by one; the index is asked again as long as somebody wants more."""
        before = query.before
        while rows := self._selected(replace(query, before=before, limit=query.limit + 1)):
            for number, certain in rows:
                before = number
                checkpoint = self._listed(number)
                if checkpoint is not None and (certain or self._touches(checkpoint, query.path or b"")):
                    yield checkpoint

    def _listed(self, number: int) -> Checkpoint | None:
        """A checkpoint; None if it is damaged, because what is listed can be restored."""
        try:
            return self._parts.store.get(number)
        except StoreDamaged as damage:
            self._remedy.met(damage, number)
            return None

    def _selected(self, query: Query) -> Sequence[tuple[int, bool]]:
        return self._catalogue.asked(lambda: self._parts.index.select(query))

    def _touches(self, checkpoint: Checkpoint, path: Path) -> bool:
        """Did this checkpoint change a path? Asked only where the index does not know."""
        if not self._parent_tree_is_left(checkpoint):
            return True  # nobody can tell any more: better shown than lost
        old = checkpoint.parent_tree
        read = self._parts.store.objects.read_tree
        try:
            before = None if old is None else trees.find(bytes.fromhex(old), path, read)
            return before != self.entry(checkpoint, path)
        except StoreDamaged as damage:
            self._remedy.met(damage)
            return True

    def _complete(self, checkpoint: Checkpoint) -> Checkpoint:
        if checkpoint.files_changed_complete or not self._parent_tree_is_left(checkpoint):
            return checkpoint
        try:
            changes = self._parts.changes_between(checkpoint.parent_tree, checkpoint.tree)
        except StoreDamaged as damage:  # as far as its commit tells
            self._remedy.met(damage)
            return checkpoint
        files: tuple[FileChange, ...] = describe(changes, ForgivingContent(self._parts.store.objects)).files
        return replace(checkpoint, files_changed=files)

    def _parent_tree_is_left(self, checkpoint: Checkpoint) -> bool:
        """The checkpoint before may have been pruned, its trees with it."""
        tree = checkpoint.parent_tree
        return tree is None or self._parts.store.objects.has(bytes.fromhex(tree))


class _Names:
    """The checkpoints as `naming` wants to ask for them. Numbers are in memory; the table is asked for the rest."""

    def __init__(self, parts: Parts, catalogue: Catalogue) -> None:
        self._store, self._index = parts.store, parts.index
        self._catalogue = catalogue

    def newest(self, skip: int) -> int | None:
        numbers = self._store.numbers
        return numbers[-1 - skip] if skip < len(numbers) else None

    def oldest(self) -> int | None:
        return self._store.numbers[0] if self._store.numbers else None

    def has(self, number: int) -> bool:
        return self._store.has(number)

    def by_prefix(self, prefix: str) -> Sequence[tuple[int, str]]:
        return self._catalogue.asked(lambda: self._index.by_prefix(prefix))

    def newest_at(self, time: datetime) -> int | None:
        return self._catalogue.asked(lambda: self._index.newest_at(time))


def _is_of(change: FileChange, path: Path) -> bool:
    """Is this change at a path or below it, or did the file come from there?"""
    places = (change.path,) if change.old_path is None else (change.path, change.old_path)
    return any(place == path or is_below(place, path) for place in places)


def compose(first: Changes, second: Changes) -> Changes:
    """The changes of two steps as those of one."""
    composed: dict[Path, Change] = {}
    for path in first.keys() | second.keys():
        old = (first.get(path) or second[path]).old
        new = (second.get(path) or first[path]).new
        if old != new:
            composed[path] = Change(old, new)
    return composed
