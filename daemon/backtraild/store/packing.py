"""Where new packs begin: what need not be written again, how much may be written, and what upkeep must not let go."""

import contextlib
import functools
import os
import weakref
from collections.abc import Callable, Iterable

from backtraild import durable
from backtraild.blanks import Blanks
from backtraild.model import ObjectId
from backtraild.store import aside
from backtraild.store.indexes import SMALL_PACK
from backtraild.store.pack import PackWriter
from backtraild.store.reader import Objects
from backtraild.store.tidying import UPKEEP_PREFIX

# Indexes that a power cut may take. They are made again at the next start, of which each takes a little time.
MOST_UNSYNCED = 4

Room = Callable[[int], None]
"""May so many more bytes be written? Raises if not."""


class Packing:
    """The pack folder of a store, for the one thread that writes to it.

    While upkeep is under way, everything that is used again is noted: upkeep decides by the refs of one moment what
    nobody needs, and a save after that moment may come back to it. Every new tree is made of three things, and all
    of them are noted or can't be let go: objects that went into a new pack, which upkeep does not touch; objects
    that the store had already, which `known` answered for; and unchanged parts of an earlier tree, the base. A base
    that upkeep keeps is kept with all that is in it; one that it would let go is noted here like the rest; and one
    that is newer than upkeep's list of packs was itself made in this way. A pack that is never finished uses nothing:
    a save that is refused again and again for want of room must not keep upkeep from making it.
    """

    def __init__(self, git_dir: str, folder: str, objects: Objects) -> None:
        self._git_dir = git_dir
        self._folder = folder
        self._objects = objects
        self._used: set[ObjectId] | None = None
        self._wanted: weakref.WeakKeyDictionary[PackWriter, set[ObjectId]] = weakref.WeakKeyDictionary()
        self._bytes: int | None = None
        self._unsynced: list[str] = []
        self._blanks = Blanks(folder)
        self.restock, self.discard_blanks = self._blanks.restock, self._blanks.discard
        self.room: Room | None = None

    def begin(self, *, afresh: bool = False) -> PackWriter:
        """A new pack. What the store holds is left out of it, unless it is written afresh."""
        return self._new(_unknown if afresh else self._objects.has, self._claim)

    def begin_small(self) -> PackWriter:
        """A new pack of a few bytes without which nothing can be let go: it asks nobody whether there is room."""
        return self._new(_unknown, self._count)

    def begin_healing(self) -> PackWriter:
        """A new pack, of which only that is left out which the store holds and can still read."""
        return self._new(functools.cache(self._objects.is_sound), self._claim)

    def finish(self, pack: PackWriter) -> None:
        """Give a pack its name, durably, and take note of it."""
        is_small = len(pack) <= SMALL_PACK
        stem = pack.finish(is_index_synced=not is_small)
        if stem is not None:
            self._objects.added(stem, pack.offsets if is_small else None)
            if is_small:
                self._leave_unsynced(stem + ".idx")
        self.use(*self._wanted.pop(pack, ()))

    def settle(self) -> None:
        """Make durable what nobody waited for: the indexes of the newest packs."""
        while self._unsynced:
            with contextlib.suppress(FileNotFoundError):  # merged into another one meanwhile
                durable.sync_file(self._unsynced[-1])
            self._unsynced.pop()

    def _leave_unsynced(self, index: str) -> None:
        self._unsynced.append(index)
        if len(self._unsynced) > MOST_UNSYNCED:
            self.settle()

    @property
    def bytes(self) -> int:
        """The size of all packs and indexes, unfinished and old ones too."""
        if self._bytes is None:
            self._bytes = _size(self._folder) + aside.size(self._git_dir)
        return self._bytes

    def measure_again(self) -> None:
        """Packs came or went that were not begun here."""
        self._bytes = None

    def note_used(self) -> None:
        """From now on, remember what is used again."""
        self._used = set()

    def forget_used(self) -> None:
        """Upkeep is over."""
        self._used = None

    def want(self, pack: PackWriter, ids: Iterable[ObjectId]) -> None:
        """These objects become part of something new, if the pack is finished."""
        if self._used is not None:
            self._wanted[pack].update(ids)

    def use(self, *ids: ObjectId) -> None:
        """These objects become part of something new."""
        if self._used is not None:
            self._used.update(ids)

    def uses_any(self, ids: Iterable[ObjectId]) -> bool:
        """Was any of these used again? True also where that was not noted."""
        return self._used is None or any(oid in self._used for oid in ids)

    def _new(self, known: Callable[[ObjectId], bool], claim: Callable[[int], None]) -> PackWriter:
        wanted: set[ObjectId] = set()

        def is_known(oid: ObjectId) -> bool:
            found = known(oid)
            if found and self._used is not None:
                wanted.add(oid)
            return found

        pack = PackWriter(self._folder, known if known is _unknown else is_known, claim, self._blanks)
        self._wanted[pack] = wanted
        return pack

    def _claim(self, size: int) -> None:
        if size > 0 and self.room is not None:
            self.room(size)
        self._count(size)

    def _count(self, size: int) -> None:
        if self._bytes is not None:
            self._bytes += size


def _size(folder: str) -> int:
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_size for entry in entries if not entry.name.startswith(UPKEEP_PREFIX))


def _unknown(_: ObjectId) -> bool:
    return False
