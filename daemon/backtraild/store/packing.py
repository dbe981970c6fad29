"""Where new packs begin: what need not be written again, how much may be written, and what upkeep must not let go."""

import contextlib
import functools
import os
import weakref
from collections.abc import Callable, Iterable, Iterator

from backtraild import blanks, durable
from backtraild.blanks import Blanks
from backtraild.model import ObjectId
from backtraild.store import aside
from backtraild.store.indexes import SMALL_PACK
from backtraild.store.pack import PackWriter
from backtraild.store.reader import Objects
from backtraild.store.tidying import UPKEEP_PREFIX

# What a power cut may take and the next start makes again; each takes it a few milliseconds.
MOST_UNSYNCED = 4
MOST_PLEDGES = 16

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
        self._pledges: list[str] = []
        self._unwanted: list[str] = []
        self._is_synced = True  # the names of all packs, and of files made ahead, are durable
        self._has_redeemed = False  # and a power cut may bring back a pledge
        self._blanks = Blanks(folder)
        self.discard_blanks = self._blanks.discard
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

    def pledge(self, pack: PackWriter) -> bool:
        """The same, with one sync where the pack is small; `settling` and `redeem` do the rest. False if it is not."""
        self._remove_unwanted()
        if not pack.may_be_pledged:
            self.finish(pack)
            return False
        stem, path = pack.pledge()
        self._objects.added(stem, pack.offsets)
        self._unsynced.append(stem + ".idx")
        if path is not None:
            self._pledges.append(path)
            self._is_synced = False
        self.use(*self._wanted.pop(pack, ()))
        return path is not None

    def withdraw(self, pack: PackWriter) -> None:
        """Leave nothing of a pack that a start would take for a checkpoint, or else let no other be pledged."""
        pack.abandon()
        self._pledges = [path for path in self._pledges if path != pack.path]
        if pack.path:
            self._unwanted.append(pack.path)
        with contextlib.suppress(OSError):
            self._remove_unwanted()

    @property
    def has_many_pledges(self) -> bool:
        """Would a start take noticeably longer if there were any more?"""
        return len(self._pledges) >= MOST_PLEDGES

    def settling(self) -> Iterator[None]:
        """Make durable what nobody waited for: indexes and names of the newest packs, and of files made ahead.

        It stops before each sync, so that whoever comes waits for no more than one.
        """
        while self._unsynced:
            yield
            self._sync_index()
        if self._blanks.restock():
            self._is_synced = False  # also if somebody asks now, and the rest is put off
        if not self._is_synced:
            yield
            self._sync_names()

    def redeem(self, *, for_good: bool = False) -> None:
        """Remove the pledges, once packs and refs are settled; for good, if no power cut may bring them back."""
        while self._pledges:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._pledges[-1])
            self._pledges.pop()
            self._has_redeemed = True
        if for_good and self._has_redeemed:
            self._sync_names()

    def _remove_unwanted(self) -> None:
        """Those of saves that failed, for good: else a start could find two checkpoints of one number."""
        if self._unwanted:
            for path in self._unwanted:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path)
            self._sync_names()
            self._unwanted = []

    def _leave_unsynced(self, index: str) -> None:
        self._unsynced.append(index)
        while len(self._unsynced) > MOST_UNSYNCED:
            self._sync_index()

    def _sync_index(self) -> None:
        with contextlib.suppress(FileNotFoundError):  # merged into another one meanwhile
            durable.sync_file(self._unsynced[0])
        self._unsynced.pop(0)

    def _sync_names(self) -> None:
        durable.sync_folder(self._folder)
        self._is_synced, self._has_redeemed = True, False
        self._blanks.last()

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
        # One after the other: what the system told of each takes a kilobyte, and there may be thousands.
        return sum(_counted(entry) for entry in entries)


def _counted(entry: "os.DirEntry[str]") -> int:
    return 0 if entry.name.startswith(UPKEEP_PREFIX) or _is_pledge(entry) else entry.stat().st_size


def _is_pledge(entry: "os.DirEntry[str]") -> bool:
    """The second name of a pack, which takes no room."""
    return entry.name.startswith(blanks.PREFIX) and entry.stat().st_nlink > 1


def _unknown(_: ObjectId) -> bool:
    return False
