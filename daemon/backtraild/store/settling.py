"""What a save leaves undone until it is answered, and what a start finds undone."""

import os
from collections.abc import Callable, Iterator, Sequence

from backtraild.store.failing import failing
from backtraild.store.packing import Packing
from backtraild.store.pledges import Pledged
from backtraild.store.reader import Objects
from backtraild.store.refs import CHECKPOINTS, Refs


class Settling:
    """Of one store, by the thread that writes it: syncs that pledges stand for, rubbish, indexes to be kept."""

    def __init__(
        self, packing: Packing, refs: Refs, objects: Objects, sweep_soon: Callable[[], None]
    ) -> None:
        self._packing = packing
        self._refs = refs
        self._objects = objects
        self._sweep_soon = sweep_soon
        self._has_trash = False

    def sweep_when_settled(self) -> None:
        """There are files that nobody needs any more; nor does anybody wait until they are gone."""
        self._has_trash = True

    def settle(self, is_asked: Callable[[], bool] = lambda: False) -> None:
        """Do what no answer waits for: make durable what would be made again after a power cut, and sweep.

        Once somebody asks for something, the rest is left for the next time.
        """
        with failing("written"):
            for _ in self._syncs():
                if is_asked():
                    return
            self._packing.redeem()
        if self._has_trash:
            self._has_trash = False
            self._sweep_soon()
        if not is_asked():  # it may read many megabytes
            self._objects.take_at_hand()

    def make_durable(self, *, for_good: bool = False) -> None:
        """Whoever waits, waits for all syncs; `for_good`, no pledge is left that a power cut could bring back."""
        for _ in self._syncs():
            pass
        self._packing.redeem(for_good=for_good)

    def _syncs(self) -> Iterator[None]:
        yield from self._packing.settling()
        yield from self._refs.settling()


def redeem(refs: Refs, found: Sequence[Pledged]) -> None:
    """Have checkpoints be durable in every respect that a power cut or a kill found pledged."""
    for number, commit_id in (item for each in found for item in each.checkpoints.items()):
        name = f"{CHECKPOINTS}/{number}"
        if refs.read(name) in (None, commit_id):
            refs.confirm(name, commit_id)
    for _ in refs.settling():
        pass  # nobody can ask for anything yet
    for each in found:
        os.unlink(each.path)
