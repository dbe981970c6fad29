"""What is in a folder beside the files that have rows: listed, or known from an earlier start.

A folder's own times change with every name that comes into it or goes, as a file's do with its content. So one that
looks as it did when it was listed has the same names in it, under the rule that holds for files: what was changed a
moment before it was looked at may change again unseen, and does not count.
"""

import os
import time
from collections.abc import Collection, Iterable
from sqlite3 import Connection

from backtraild import layout
from backtraild.ticks import is_settled

# All folders whose keys are from one to the other.
Stretch = tuple[bytes, bytes]

# A folder with more than this beside its rows, as with thousands of excluded files, is listed every time.
MOST_BYTES = 32 * 1024

_ARE_THERE = "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE name = 'listings')"
_OF_STRETCH = "SELECT folder, listing FROM listings WHERE folder >= ? AND folder < ?"
_OF_FOLDER = "SELECT folder, listing FROM listings WHERE folder = ?"


class Listings:
    """Of the folders that a scout visits for a stretch; the new ones among them are `made`, by key."""

    def __init__(self, table: Connection, stretch: Stretch, root: bytes | None) -> None:
        """Without a root, nothing is known of its file system, and all folders are listed."""
        self.made: list[tuple[bytes, bytes]] = []
        self._table = table
        self._stretch = stretch
        self._device = None if root is None else os.stat(root).st_dev
        # A table of an earlier version has none.
        self._are_there = self._device is not None and bool(table.execute(_ARE_THERE).fetchone()[0])
        self._known: dict[bytes, bytes] = dict(table.execute(_OF_STRETCH, stretch)) if self._are_there else {}

    def proven_others(self, key: bytes, seen: memoryview, bundles: list[bytes]) -> list[bytes] | None:
        """What a folder has beside its rows, if nothing has changed in it since it was listed. None if that is unknown.

        All that is to be seen of the folder and its files proves it, together with their rows.
        """
        kept = self._known.get(key) or self._kept(key)
        return None if kept is None else layout.proven_others(kept, seen, bundles)

    def others(
        self, key: bytes, names: list[bytes], seen: memoryview | None = None, bundles: Iterable[bytes] = ()
    ) -> Collection[bytes]:
        """What the present folder has beside these names. It is watched already: what changes from now on is told.

        Where these look as their rows say, what was seen is kept for the next start, as the proof of that.
        """
        started = time.time_ns()
        folder = os.lstat(b".")
        kept = self._kept(key)
        known = None if kept is None else layout.others(kept, folder, names)
        if known is not None and seen is None:
            return known
        others = set(os.listdir(b".")).difference(names) if known is None else known
        self._note(key, folder, layout.listing(folder, names, others, seen, bundles), started)
        return others

    def _kept(self, key: bytes) -> bytes | None:
        first, end = self._stretch
        if self._are_there and not first <= key < end and key not in self._known:  # it only leads there
            self._known.update(self._table.execute(_OF_FOLDER, (key,)))
        return self._known.get(key)

    def _note(self, key: bytes, folder: os.stat_result, listing: bytes, started: int) -> None:
        ended = time.time_ns()
        is_proof = folder.st_dev == self._device and all(
            is_settled(stamp, started, ended) for stamp in (folder.st_mtime_ns, folder.st_ctime_ns)
        )
        if is_proof and len(listing) <= MOST_BYTES:
            self.made.append((key, listing))
