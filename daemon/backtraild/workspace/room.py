"""Whether a store may grow: what its owner allows it, and what its disk has left. Decides; frees nothing."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from enum import StrEnum

from msgspec import Struct

from backtrail.amounts import size
from backtrail.errors import StoreFull
from backtraild import space
from backtraild.model import WorkspaceConfig
from backtraild.store import Store

# The last bit of a cap is for the tables, which grow without asking, and for restores, which must be possible when
# nothing else is: they record little.
RESERVE_BYTES = 8 * 1024 * 1024
RESERVE_PART = 20
SURELY_SECONDS = 60.0

# What grows beside the packs; the files that stay small are not measured one by one.
_TABLES = ("state.db", "state.db-wal", "state.db-shm", "repo.git/packed-refs")
SMALL_FILES_BYTES = 64 * 1024


class Bound(StrEnum):
    """What keeps a store from growing, by the name of the setting."""

    CAP = "max_store_bytes"
    FLOOR = "min_free_bytes"


class Refusal(Struct, frozen=True):
    """What could not be written: with it, the store would have had at least so many bytes."""

    bound: Bound
    level: int
    reason: str
    moment: float


class Room:
    """The bounds of one store. Used by the thread that writes into it."""

    def __init__(self, folder: str, store: Store, config: WorkspaceConfig) -> None:
        self._folder = folder
        self._store = store
        self._tables = [os.path.join(folder, name) for name in _TABLES]
        self._floor = config.min_free_bytes
        self._is_for_restore = False
        self.cap = config.max_store_bytes
        self._reserved = 0
        self._give_way: Callable[[], None] | None = None
        self.refusal: Refusal | None = None  # the last one, until something could be written
        self._needed = 0
        store.room = self.check

    @property
    def used(self) -> int:
        """The bytes of the store that count: packs, also unfinished ones, indexes, and the tables beside them."""
        return self._store.pack_bytes + sum(map(_size, self._tables)) + SMALL_FILES_BYTES

    @property
    def left(self) -> int:
        """How many bytes may be written now."""
        return max(0, min(self._limit - self.used, self.disk.room))

    @property
    def disk(self) -> space.Space:
        """The disk that holds the store."""
        return space.look(self._folder, self._floor)

    def check(self, more: int) -> None:
        """Raise StoreFull unless so many more bytes may be written.

        Asked before every write, so that the bounds hold on the disk at every moment.
        """
        used = self.used
        if self._give_way is not None and self._limit - self._reserved < used + more <= self._limit:
            self._give_way()  # a save comes before upkeep
        if used + more > self._limit:
            needed = f"needs at least {size(more)} more"
            allowed = f"and max_store_bytes allows {size(self.cap)}"
            self._refuse(Bound.CAP, used + more, f"The store has {size(used)}, {needed}, {allowed}.")
        disk = self.disk
        if more > disk.room and not self._is_for_restore:
            free, floor = size(disk.free), size(disk.floor)
            reason = (
                f"The disk that holds the store ({self._folder}) has {free} free, "
                f"and min_free_bytes leaves {floor} of them alone."
            )
            self._refuse(Bound.FLOOR, used + more, reason)

    def reserve(self, amount: int, give_way: Callable[[], None]) -> None:
        """Upkeep writes so many bytes for a while; it gives way when a save needs them."""
        self._reserved, self._give_way = amount, give_way

    def release(self) -> None:
        """Upkeep is over."""
        self._reserved, self._give_way = 0, None

    def is_worth_trying(self) -> bool:
        """May that be written now which was refused? Else trying would only write until it is refused again.

        Not asked for ever: what is to be written may have become less.
        """
        refusal = self.refusal
        if refusal is None or time.monotonic() >= refusal.moment + SURELY_SECONDS:
            return True
        return self.is_wide_enough()

    def is_wide_enough(self) -> bool:
        """Is there room for what was refused, as far as it is known how much that was?"""
        if self.refusal is not None and not self._needed:
            # Asked soon after it was refused: what had been written of it is gone by then.
            self._needed = max(1, self.refusal.level - self.used)
        return self.left >= self._needed

    def eased(self) -> None:
        """Something was written, or there was nothing to write: whatever was refused is over."""
        self.refusal, self._needed = None, 0

    @contextlib.contextmanager
    def for_restore(self) -> Iterator[None]:
        """In this block, what a restore records about itself is written: it may use what is kept for that."""
        self._is_for_restore = True
        try:
            yield
        finally:
            self._is_for_restore = False

    @property
    def _limit(self) -> int:
        if self._is_for_restore:
            return self.cap
        return self.cap - min(RESERVE_BYTES, self.cap // RESERVE_PART)

    def _refuse(self, bound: Bound, level: int, reason: str) -> None:
        self.refusal, self._needed = Refusal(bound, level, reason, time.monotonic()), 0
        raise StoreFull(f"{reason} Nothing was saved.", _WHAT_TO_DO[bound])


_WHAT_TO_DO = {
    Bound.CAP: "Delete or unpin checkpoints, exclude large files, or allow more: `backtrail watch --max-store SIZE`.",
    Bound.FLOOR: "Make room on that disk, and saving goes on by itself.",
}


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
