"""Checkpoints whose references were lost, found among the commits. Pure."""

import contextlib
from collections.abc import Collection, Container, Iterable

from backtrail.errors import StoreDamaged
from backtraild.model import Checkpoint, ObjectId
from backtraild.store import record


def newest_unheld(
    commits: Iterable[tuple[ObjectId, bytes]], held: Container[str | None], numbers: Collection[int]
) -> dict[int, str]:
    """The newest commit for each of these numbers that no reference holds."""
    found: dict[int, Checkpoint] = {}
    for oid, content in commits:
        with contextlib.suppress(StoreDamaged):  # not a checkpoint's
            lost = record.decode(oid.hex(), content, pinned=False)
            if lost.number in numbers and lost.id not in held:
                found[lost.number] = max(lost, found.get(lost.number, lost), key=lambda each: each.timestamp)
    return {number: lost.id for number, lost in found.items()}
