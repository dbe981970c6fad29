"""Putting the packs that upkeep made in the place of old ones, between two saves, in the thread that owns the store."""

import os

from backtraild.store import aside, swapping
from backtraild.store.failing import failing
from backtraild.store.packing import Packing
from backtraild.store.packs import DAMAGE
from backtraild.store.reader import Objects
from backtraild.store.refs import CHECKPOINTS, Refs
from backtraild.store.tidying import Tidied


class Turnover:
    """One round of upkeep after another: `begin`, then `end` or `abandon`."""

    def __init__(self, git_dir: str, folder: str, packing: Packing, objects: Objects, refs: Refs) -> None:
        self._git_dir = git_dir
        self._folder = folder
        self._packing = packing
        self._objects = objects
        self._refs = refs
        self.trash = os.path.join(git_dir, aside.FOLDER)  # for files that nobody needs any more

    def begin(self) -> tuple[str, ...]:
        """The packs as they are now, between two saves: what is in them is reachable from a ref, or not needed.

        From here to the end of upkeep, what saves use again is noted.
        """
        with failing("tidied"):
            self._refs.pack(CHECKPOINTS)
            self._packing.note_used()
            return tuple(swapping.whole_packs(self._folder))

    def end(self, tidied: Tidied) -> bool:
        """Put new packs in the place of old ones, unless something was used again that is not in the new ones."""
        with failing("tidied"):
            try:
                if not self._may_go(tidied):
                    return False
                made = swapping.publish(self._folder, tidied)
                # Everything that is needed is there twice and durable: a crash from here on costs disk space only.
                swapping.remove(self._git_dir, self._folder, set(tidied.replaced).difference(made))
            finally:
                self.abandon()
                self._objects.refresh()
        return True

    def sweep(self) -> None:
        """Give back the bytes of what was put aside, or take note that it is gone."""
        with failing("tidied"):
            aside.sweep(self._git_dir)
        self._packing.measure_again()

    def sweep_soon(self) -> None:
        """The same in a thread that nobody waits for."""
        aside.sweep_soon(self._git_dir)

    def abandon(self) -> None:
        """Leave the packs as they are."""
        self._packing.forget_used()
        self._packing.measure_again()
        with failing("tidied"):
            swapping.discard(self._folder)

    def _may_go(self, tidied: Tidied) -> bool:
        try:
            return not self._packing.uses_any(swapping.let_go(self._folder, tidied))
        except DAMAGE:  # nobody knows what would be gone
            return False
