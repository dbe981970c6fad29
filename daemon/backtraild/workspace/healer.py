"""Healing: whatever the store lacks and the disk or the stat table still has is stored again, under the same ids.

So every checkpoint that shares it is whole again. Costs a look at everything, and is done only after damage was met.
"""

import time

from backtraild.model import Change, Changes, ObjectId
from backtraild.store import PackWriter
from backtraild.workspace.parts import Parts
from backtraild.workspace.reinstating import reinstate


class Healer:
    """One healing look: `begin`, then a scan into the same pack, then `tree`, then `end`."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._needed: frozenset[ObjectId] = frozenset()
        self._folders = 0

    def mend(self) -> None:
        """What can be put right without the disk: packs, their indexes, references. Outside of transactions."""
        self._parts.suspicion.note(self._parts.store.mend())
        self._parts.suspicion.done += reinstate(self._parts)

    def begin(self, pack: PackWriter) -> None:
        """Store the newest checkpoint's folders again from the rows, and have the scan read every file."""
        rows = self._rows()
        self._parts.store.write_tree(pack, None, rows)
        self._folders = len(pack)
        self._needed = frozenset(change.new.oid for change in rows.values() if change.new is not None)
        self._parts.table.distrust()

    def tree(self, pack: PackWriter) -> ObjectId:
        """The tree of what the scan found, with all of its folders."""
        return self._parts.store.write_tree(pack, None, self._rows())

    def end(self, pack: PackWriter, *, partial: bool) -> None:
        """Take note of what was stored again; the rows lack something as before where they are `partial`."""
        suspicion = self._parts.suspicion
        reason = suspicion.reason or ""
        objects = self._folders + len(self._needed & pack.ids)
        suspicion.looked(objects, self._parts.store.newest_tree(), time.monotonic())
        suspicion.partial = partial
        if partial:
            suspicion.raise_for(reason)

    def _rows(self) -> Changes:
        return {path: Change(None, stat.entry) for path, stat in self._parts.table.below(b"")}
