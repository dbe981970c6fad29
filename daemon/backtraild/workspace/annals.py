"""What became of a path from checkpoint to checkpoint, newest first; how much changed is told elsewhere.

The index says which checkpoints may have changed a path; what they hold there is compared. So the cost follows
the number of changes, and none of them depends on a checkpoint that was deleted.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from heapq import merge

from msgspec import Struct

from backtrail.errors import StoreDamaged
from backtraild.model import TREE_MODE, Checkpoint, Entry, FileChange, Path
from backtraild.state import Query
from backtraild.store import pairs, trees
from backtraild.workspace.catalogue import Catalogue
from backtraild.workspace.parts import Parts

_FIRST_BATCH = 64


class Step(Struct, frozen=True):
    """A checkpoint in which a path is not what it was before; `old_path` differs where it was renamed."""

    checkpoint: Checkpoint
    path: Path
    old_path: Path
    old: Entry | None
    new: Entry | None


class _State(Struct, frozen=True):
    """What a checkpoint holds at the path in question."""

    checkpoint: Checkpoint
    entry: Entry | None


class Annals:
    """The steps in which files and folders came to be what they are."""

    def __init__(self, parts: Parts, catalogue: Catalogue) -> None:
        self._parts = parts
        self._catalogue = catalogue

    def steps(self, path: Path, before: int | None = None) -> Iterator[Step]:
        """Every change of a path in checkpoints below a number, newest first; a renamed file is followed."""
        self._catalogue.catch_up()
        states = self._states(path, before)
        newer = next(states, None)
        while newer is not None:
            older, old_path = next(states, None), path
            if _is_file(newer.entry) and _entry_of(older) is None:
                old_path = self._origin(newer.checkpoint, path)
                if old_path != path:
                    states = self._states(old_path, newer.checkpoint.number)
                    older = next(states, None)
            if newer.entry != _entry_of(older) or path != old_path:
                yield Step(newer.checkpoint, path, old_path, _entry_of(older), newer.entry)
            newer, path = older, old_path

    def _states(self, path: Path, before: int | None) -> Iterator[_State]:
        """What the path was in all checkpoints that may have changed it.

        One that is damaged hands what it changed on to the next newer one, as a deleted one does.
        """
        numbers = self._parts.store.numbers
        end = len(numbers) if before is None else bisect_left(numbers, before)
        for number in self._candidates(path, end):
            for at in range(bisect_left(numbers, number), end):
                state = self._state(numbers[at], path)
                if state is not None:
                    end = at
                    yield state
                    break

    def _state(self, number: int, path: Path) -> _State | None:
        try:
            checkpoint = self._parts.store.get(number)
            entry = trees.find(bytes.fromhex(checkpoint.tree), path, self._parts.store.objects.read_tree)
        except StoreDamaged:
            return None
        return _State(checkpoint, entry)

    def _candidates(self, path: Path, end: int) -> Iterator[int]:
        """The checkpoints that may have changed a path, newest first."""
        last = self._parts.store.numbers[end - 1] + 1 if end else 0
        for number in merge(self._indexed(path, last), self._after_gaps(end), reverse=True):
            if number < last:
                last = number
                yield number

    def _indexed(self, path: Path, before: int) -> Iterator[int]:
        query = Query(limit=_FIRST_BATCH, before=before, path=path)
        while rows := self._parts.index.select(query):
            yield from (number for number, _ in rows)
            # Every question costs the whole index anew: who wants many versions asks few of them.
            query = Query(limit=query.limit * 4, before=rows[-1][0], path=path)

    def _after_gaps(self, end: int) -> Iterator[int]:
        """Checkpoints right after those that were deleted, or can't be read: what these changed is theirs now."""
        numbers = self._parts.store.numbers
        unlisted = (number + 1 for number in sorted(self._parts.suspicion.unlisted, reverse=True))
        return merge(_after_holes(numbers, end), filter(self._parts.store.has, unlisted), reverse=True)

    def _origin(self, checkpoint: Checkpoint, path: Path) -> Path:
        """The name under which a file that is new at a path was known before; the same where it was not."""
        recorded = self.recorded(checkpoint, path)
        if recorded is not None:
            return recorded.old_path or path
        if self.tells_all(checkpoint) and checkpoint.files_changed_complete:
            return path
        try:
            before = self._tree_before(checkpoint)
            changes = {} if before is None else self._parts.changes_between(before, checkpoint.tree)
            paired = pairs(changes, self._parts.store.objects)
        except StoreDamaged:
            return path  # nobody can tell any more
        return next((pair.old_path for pair in paired if pair.path == path), path)

    def recorded(self, checkpoint: Checkpoint, path: Path) -> FileChange | None:
        """What the checkpoint itself tells about a path, if nothing before it was deleted."""
        if not self.tells_all(checkpoint):
            return None
        return next((change for change in checkpoint.files_changed if change.path == path), None)

    def tells_all(self, checkpoint: Checkpoint) -> bool:
        """Are the changes of a checkpoint told against the one that comes before it now?"""
        return checkpoint.parent == self._number_before(checkpoint)

    def _number_before(self, checkpoint: Checkpoint) -> int | None:
        numbers = self._parts.store.numbers
        at = bisect_left(numbers, checkpoint.number)
        return numbers[at - 1] if at else None

    def _tree_before(self, checkpoint: Checkpoint) -> str | None:
        number = self._number_before(checkpoint)
        if number == checkpoint.parent:
            return checkpoint.parent_tree
        return None if number is None else self._parts.store.get(number).tree


def _is_file(entry: Entry | None) -> bool:
    return entry is not None and entry.mode != TREE_MODE


def _entry_of(state: _State | None) -> Entry | None:
    return None if state is None else state.entry


def _after_holes(numbers: Sequence[int], end: int) -> Iterator[int]:
    """Of the first so many numbers, those that do not follow the one before, the last of them first.

    Halved again and again: among thousands of checkpoints without a hole, none is looked at one by one.
    """
    while end:
        beyond = numbers[end - 1] - (end - 1)
        end = bisect_left(range(end), beyond, key=lambda at: numbers[at] - at)
        yield numbers[end]
