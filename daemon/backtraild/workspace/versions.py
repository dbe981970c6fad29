"""The log of one file or folder: its versions with status, size and line counts, page by page."""

from itertools import islice

from msgspec import Struct

from backtrail.errors import UnknownPath, UsageError
from backtrail.pathtext import from_text, to_text
from backtraild.model import TREE_MODE, Checkpoint, Entry, FileChange, Path, Status, is_below
from backtraild.store import EMPTY_TREE, LISTED_CHANGES, Pair, describe, measure
from backtraild.workspace.annals import Annals, Step
from backtraild.workspace.parts import Parts


class Version(Struct, frozen=True):
    """A path as one checkpoint left it: `oid` is its content, or a folder's tree; None where it is gone.

    A folder has no size. Line counts are None where lines make no sense or are too many to be counted.
    """

    checkpoint: Checkpoint
    path: Path
    status: Status
    old_path: Path | None
    insertions: int | None
    deletions: int | None
    oid: str | None
    size: int


class VersionPage(Struct, frozen=True):
    """Some versions, newest first; `next` is given to the next question where there are more."""

    versions: tuple[Version, ...]
    next: str | None


class Versions:
    """The steps of a path, told as `log` shows them."""

    def __init__(self, parts: Parts, annals: Annals) -> None:
        self._parts = parts
        self._annals = annals

    def log(self, path: Path, limit: int = 50, cursor: str | None = None) -> VersionPage:
        """The versions of a file under this name and those it had before, or of a folder under this name."""
        if limit < 1:
            raise UsageError(f"A list of {limit} versions makes no sense.", "Ask for 1 or more.")
        before, followed = (None, path) if cursor is None else _read_cursor(cursor)
        found = [*islice(self._annals.steps(followed, before), limit + 1)]
        if not found and cursor is None:
            raise UnknownPath(
                f"No checkpoint holds anything at {to_text(path)}.",
                "Files that are excluded are in no checkpoint; neither are names that were mistyped.",
            )
        last = found[limit - 1] if len(found) > limit else None
        return VersionPage(tuple(map(self._version, found[:limit])), None if last is None else _cursor(last))

    def _version(self, step: Step) -> Version:
        told = self._folder_change(step) if _is_folder(step.new or step.old) else self._file_change(step)
        return Version(
            checkpoint=step.checkpoint,
            path=step.path,
            status=told.status,
            old_path=told.old_path,
            insertions=told.insertions,
            deletions=told.deletions,
            oid=None if step.new is None else step.new.oid.hex(),
            size=told.size,
        )

    def _file_change(self, step: Step) -> FileChange:
        recorded = self._annals.recorded(step.checkpoint, step.path)
        if recorded is not None:
            return recorded
        old = None if _is_folder(step.old) else step.old
        pair = Pair(step.path, step.path if old is None else step.old_path, old, step.new)
        return measure([pair], self._parts.store.objects).files[0]

    def _folder_change(self, step: Step) -> FileChange:
        before, after = _is_folder(step.old), _is_folder(step.new)
        status = Status.MODIFIED if before and after else Status.ADDED if after else Status.DELETED
        insertions, deletions = self._lines_below(step) or (None, None)
        return FileChange(step.path, status, 0, None, insertions, deletions)

    def _lines_below(self, step: Step) -> tuple[int, int] | None:
        """Lines that came and went in a folder: as recorded, unless files moved in or out or it is not told."""
        checkpoint, folder = step.checkpoint, step.path
        told_here = self._annals.tells_all(checkpoint)
        if told_here and not folder:
            return checkpoint.insertions, checkpoint.deletions
        if told_here and checkpoint.files_changed_complete and not _crosses(checkpoint, folder):
            inside = [change for change in checkpoint.files_changed if is_below(change.path, folder)]
            insertions = sum(change.insertions or 0 for change in inside)
            return insertions, sum(change.deletions or 0 for change in inside)
        changes = self._parts.changes_between(_tree_id(step.old), _tree_id(step.new))
        if len(changes) > LISTED_CHANGES:
            return None
        told = describe(changes, self._parts.store.objects)
        return told.insertions, told.deletions


def _crosses(checkpoint: Checkpoint, folder: Path) -> bool:
    """Was a file moved into a folder, or out of it?"""
    return any(
        change.old_path is not None and is_below(change.path, folder) != is_below(change.old_path, folder)
        for change in checkpoint.files_changed
    )


def _cursor(last: Step) -> str:
    """Where the next page goes on: below a number, under the name that the file had there."""
    return f"{last.checkpoint.number}:{to_text(last.old_path)}"


def _read_cursor(cursor: str) -> tuple[int, Path]:
    number, colon, path = cursor.partition(":")
    if not (colon and number.isascii() and number.isdecimal()):
        raise UsageError(
            f"{cursor[:100]!r} is not the end of a page.", "Give what the page before had as next."
        )
    return int(number), from_text(path)


def _is_folder(entry: Entry | None) -> bool:
    return entry is not None and entry.mode == TREE_MODE


def _tree_id(entry: Entry | None) -> str:
    oid = entry.oid if entry is not None and entry.mode == TREE_MODE else EMPTY_TREE
    return oid.hex()
