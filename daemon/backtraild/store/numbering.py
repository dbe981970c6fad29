"""Numbers of checkpoints: each is given out once, also after the checkpoint that had it was deleted."""

from collections.abc import Collection

from backtrail.errors import StoreDamaged, StoreFailed
from backtraild.store.packing import Packing
from backtraild.store.reader import Objects
from backtraild.store.refs import HIGHEST_NUMBER, Refs

HIGHEST = "refs/backtrail/highest"  # a blob with the highest number ever given out, once that one is deleted

_NO_NUMBER = "Backtrail never came so far: somebody else wrote it. Begin a store anew with `unwatch --purge`."


class Numbering:
    """Those of one store. Used by one thread."""

    def __init__(self, refs: Refs, packing: Packing, objects: Objects, newest: int) -> None:
        self._refs = refs
        self._packing = packing
        self._highest = max(newest, _remembered(refs, objects))

    def next(self) -> int:
        """The number of the next checkpoint, until one has it."""
        if self._highest >= HIGHEST_NUMBER:
            raise StoreFailed(f"There is no number left after checkpoint {self._highest}.", _NO_NUMBER)
        return self._highest + 1

    def taken(self, number: int) -> None:
        """A checkpoint has this number."""
        self._highest = max(self._highest, number)

    def outlive(self, going: Collection[int]) -> None:
        """Before these are deleted: have their numbers not be given out again, durably."""
        if self._highest not in going:
            return
        pack = self._packing.begin_small()
        try:
            oid = pack.add_blob(b"%d\n" % self._highest)
            self._packing.finish(pack)
        finally:
            pack.abandon()
        self._refs.write(HIGHEST, oid.hex())


def _remembered(refs: Refs, objects: Objects) -> int:
    """The highest number of those that were deleted; 0 where none is known."""
    oid = refs.read(HIGHEST)
    try:
        highest = 0 if oid is None else int(objects.read_blob(bytes.fromhex(oid)))
        return highest if 0 <= highest <= HIGHEST_NUMBER else 0
    except (StoreDamaged, ValueError):  # a lost count is no reason to keep all checkpoints locked in
        return 0
