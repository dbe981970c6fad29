"""Content for a restore: read and checked as a whole before the first byte is written."""

from collections.abc import Iterable, Iterator

from backtraild.model import SYMLINK_MODE, Blobs, Entry, ObjectId, Path
from backtraild.restore.hostile import LONGEST_TARGET, hostile_tree, target_problem

_KEPT_IN_MEMORY = 64 * 1024 * 1024


class Supply:
    """Verified content. Small content is kept from the check to the write; large content is read twice."""

    def __init__(self, blobs: Blobs, budget: int = _KEPT_IN_MEMORY) -> None:
        self._blobs = blobs
        self._left = budget
        self._kept: dict[ObjectId, bytes] = {}

    def verify(self, wanted: Iterable[tuple[Path, Entry]]) -> None:
        """Raises StoreDamaged or HostileTree if anything wanted cannot be had or must not be written."""
        checked: set[ObjectId] = set()
        problems: list[tuple[Path, str]] = []
        for path, entry in wanted:
            if entry.mode == SYMLINK_MODE:
                why = self._check_target(entry.oid)
                problems += [(path, why)] if why else []
            elif entry.oid not in checked:
                self._check(entry.oid)
                checked.add(entry.oid)
        if problems:
            raise hostile_tree(problems)

    def parts(self, oid: ObjectId) -> Iterator[bytes]:
        """The content, piece by piece."""
        kept = self._kept.get(oid)
        return self._blobs.chunks(oid) if kept is None else iter((kept,))

    def _check(self, oid: ObjectId) -> None:
        size = self._blobs.size(oid)
        if size > self._left:
            for _ in self._blobs.chunks(oid):
                pass
            return
        self._kept[oid] = b"".join(self._blobs.chunks(oid))
        self._left -= size

    def _check_target(self, oid: ObjectId) -> str:
        if self._blobs.size(oid) > LONGEST_TARGET:
            return target_problem(b"-" * (LONGEST_TARGET + 1))
        self._kept[oid] = b"".join(self._blobs.chunks(oid))
        return target_problem(self._kept[oid])
