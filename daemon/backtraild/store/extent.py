"""How much a tree stands for, counted without walking it: a few objects can hold more files than any disk. Pure.

A folder that holds the next one twice, forty times over, is forty small objects and a million million files.
Each object is looked at once here, however often it occurs.
"""

from collections.abc import Callable
from typing import NamedTuple

from backtrail.errors import StoreDamaged
from backtraild.model import TREE_MODE, Entry, ObjectId

# Far beyond what is captured from any folder: the limit for one is 200,000 files, unless its owner insists.
MAX_ENTRIES = 5_000_000
MAX_PATH_BYTES = 512 * 1024 * 1024
LONGEST_PATH = 4096  # on average: no other program could open what lies deeper

ReadTree = Callable[[ObjectId], dict[bytes, Entry]]


class Extent(NamedTuple):
    """Files and folders at all depths, and how long their paths are together."""

    entries: int
    path_bytes: int

    @property
    def is_boundless(self) -> bool:
        """Is this more than anybody can have captured?"""
        longest = min(MAX_PATH_BYTES, self.entries * LONGEST_PATH)
        return self.entries > MAX_ENTRIES or self.path_bytes > longest


def refuse_boundless(tree: ObjectId, read: ReadTree) -> None:
    """Raise StoreDamaged where walking through a tree would take all time or all memory."""
    found = measure(tree, read)
    if found.is_boundless:
        raise StoreDamaged(
            f"Tree {tree.hex()} in the store stands for {found.entries:,} files and folders whose paths have "
            f"{found.path_bytes:,} bytes: no folder is like that, so Backtrail did not write it.",
            "`backtrail delete` lets go of the checkpoint that holds it.",
        )


def measure(tree: ObjectId, read: ReadTree) -> Extent:
    """What a tree stands for."""
    known: dict[ObjectId, Extent] = {}
    pending = [tree]
    while pending:
        entries = read(pending[-1])
        below = {entry.oid for entry in entries.values() if entry.mode == TREE_MODE}
        unknown = below - known.keys()
        if unknown:
            pending += unknown
        else:
            known[pending.pop()] = _sum(entries, known)
    return known[tree]


def _sum(entries: dict[bytes, Entry], known: dict[ObjectId, Extent]) -> Extent:
    count = path_bytes = 0
    for name, entry in entries.items():
        inside = known[entry.oid] if entry.mode == TREE_MODE else Extent(0, 0)
        count += 1 + inside.entries
        path_bytes += len(name) + inside.path_bytes + (len(name) + 1) * inside.entries
    return Extent(count, path_bytes)
