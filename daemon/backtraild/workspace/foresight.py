"""Whoever hears of a checkpoint asks how it differs from the one before: which of these answers are made ahead."""

from backtraild.model import Changes, Checkpoint, ObjectId
from backtraild.store import Kept

MOST_FILES = 32
MOST_BYTES = 256 * 1024  # of all contents on both sides


def is_worthwhile(made: Checkpoint, changes: Changes | None, recent: Kept[ObjectId, bytes]) -> bool:
    """Is it small, and all that was replaced still in memory? What has just been written is soon read."""
    if changes is None or len(changes) > MOST_FILES:
        return False
    size = sum(file.size for file in made.files_changed)
    if size > MOST_BYTES:
        return False
    for oid in _replaced(changes):
        content = recent.get(oid)
        if content is None:
            return False
        size += len(content)
    return size <= MOST_BYTES


def _replaced(changes: Changes) -> set[ObjectId]:
    """The contents that are there no more; those that only moved, or got another mode, are not compared."""
    left = {change.new.oid for change in changes.values() if change.new is not None}
    return {change.old.oid for change in changes.values() if change.old is not None} - left
