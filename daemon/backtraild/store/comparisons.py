"""Comparisons that were made, remembered.

Contents are known by their ids, and the same two compare the same for ever. Whoever asks again how a folder differs
from an earlier state, after a few more files have changed, waits for these few only.
"""

from backtraild.model import Entry, ObjectId
from backtraild.store.kept import Kept
from backtraild.store.patch import Comparing, Comparison, ContentSource, comparing

KEPT_BYTES = 2 * 1024 * 1024
_BESIDE_HUNKS = 400  # what a comparison takes that has none

_Key = tuple[ObjectId | None, ObjectId | None]


class Comparisons:
    """The most recently used ones, as many as there is room for. Used by one thread."""

    def __init__(self) -> None:
        self._kept: Kept[_Key, Comparison] = Kept(KEPT_BYTES)

    def of(self, content: ContentSource) -> Comparing:
        """Compares what is read there, unless it was compared before."""
        compare = comparing(content)

        def remembered(old: Entry | None, new: Entry | None) -> Comparison:
            key = old and old.oid, new and new.oid
            found = self._kept.get(key)
            if found is None:
                found = compare(old, new)
                self._kept.keep(key, found, _BESIDE_HUNKS + len(found.hunks or b""))
            return found

        return remembered
