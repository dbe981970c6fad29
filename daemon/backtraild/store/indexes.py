"""Finding objects in packs: which one, and where in it.

There may be thousands of packs with a few objects each and a few packs with very many. The small ones are
kept in one dictionary; in a large one's index an object is looked up on disk, or in a copy of it if that happens often.
Nothing is mapped into memory: a bad sector under a mapping would end the process, a failed read is an error like any
other.
"""

import hashlib
import os
import struct
import sys
from array import array
from collections.abc import Iterator, Mapping

from backtrail.regular import open_regular
from backtraild.model import ObjectId
from backtraild.store.objects import ID_LENGTH

# Objects: the checkpoint of a few hundred files is a small pack. Every large one is asked for each object that is new.
SMALL_PACK = 1_000
# Objects of small packs, about 250 bytes of memory each. Beyond that, their indexes are asked like those of large ones.
MOST_REMEMBERED = 100_000
# An object's place takes two reads, of what a system that is short of memory has forgotten in a minute. So an index
# that saves ask is kept, 28 bytes for each object, unless it is for some millions of them.
ASKED_OFTEN = 8
MOST_AT_HAND = 64 * 1024 * 1024
# A question takes as long as to read so many bytes at once. Where that many were asked that all of it could have been
# read instead, as when hundreds of files are saved, it is read in the middle of it, whoever waits.
QUESTION_BYTES = 32 * 1024

_VERSION_2 = b"\377tOc\0\0\0\2"
_FANOUT = struct.Struct(">256I")
_IDS_AT = len(_VERSION_2) + _FANOUT.size
_CRC_SIZE, _OFFSET_SIZE = 4, 4
_DIGEST = 20
_TRAILER = 2 * _DIGEST  # the checksums of the pack and of the index
_FAR = 0x8000_0000
_PIECE = 1024 * 1024

Place = tuple[str, int]  # a pack's name, and the offset in it


class File:
    """An open file that is closed with the last reference to it."""

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        self._descriptor = open_regular(path, follow=False)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def read(self, length: int, offset: int) -> bytes:
        """So many bytes from there; fewer only at the end of the file."""
        return os.pread(self._descriptor, length, offset)

    def expect(self, length: int, offset: int) -> None:
        """These bytes are about to be read: the disk may begin to look for them. Nobody waits for that."""
        if sys.platform != "darwin":  # which has no such call
            os.posix_fadvise(self._descriptor, offset, length, os.POSIX_FADV_WILLNEED)

    @property
    def size(self) -> int:
        """How long the file is now."""
        return os.fstat(self._descriptor).st_size

    def digest(self, end: int) -> bytes:
        """The checksum of everything before an offset."""
        digest = hashlib.sha1(usedforsecurity=False)
        for offset in range(0, end, _PIECE):
            digest.update(self.read(min(_PIECE, end - offset), offset))
        return digest.digest()


class PackIndex:
    """The index of one pack. ValueError if it is none, or cut off."""

    def __init__(self, path: str) -> None:
        self._file = File(path)
        start = self._file.read(_IDS_AT, 0)
        if len(start) != _IDS_AT or not start.startswith(_VERSION_2):
            raise ValueError("not an index of version 2")
        self._fanout = _FANOUT.unpack_from(start, len(_VERSION_2))
        self.count = self._fanout[-1]
        self._offsets_at = _IDS_AT + self.count * (ID_LENGTH + _CRC_SIZE)
        self._far_at = self._offsets_at + self.count * _OFFSET_SIZE
        if list(self._fanout) != sorted(self._fanout) or self._file.size < self._far_at + _TRAILER:
            raise ValueError("an index that is cut off")
        self._asked = 0
        self._at_hand = b""

    def find(self, oid: ObjectId) -> int | None:
        """The object's offset in the pack; None if it is not there."""
        low = self._fanout[oid[0] - 1] if oid[0] else 0
        high = self._fanout[oid[0]]
        if low == high:
            return None
        self._asked += 1
        if not self._at_hand and self._far_at <= min(self._asked * QUESTION_BYTES, MOST_AT_HAND):
            self.take_at_hand()
        first, length = _IDS_AT + low * ID_LENGTH, (high - low) * ID_LENGTH
        ids, start = (self._at_hand, first) if self._at_hand else (self._file.read(length, first), 0)
        # One search in C for the bytes is quicker than halving in Python; a find across two ids is none.
        at = ids.find(oid, start, start + length)
        while (at - start) % ID_LENGTH and at >= 0:
            at = ids.find(oid, at + 1, start + length)
        if at < 0:
            return None
        raw = self._read(_OFFSET_SIZE, self._offsets_at + (low + (at - start) // ID_LENGTH) * _OFFSET_SIZE)
        return self._resolved(int.from_bytes(raw))

    @property
    def should_be_at_hand(self) -> bool:
        """Is it asked so often that it should not be left to the system whether it is in memory?"""
        return self._asked >= ASKED_OFTEN and not self._at_hand and self._far_at <= MOST_AT_HAND

    def take_at_hand(self) -> None:
        """Keep in memory where everything is."""
        found = self._file.read(self._far_at, 0)
        self._at_hand = found if len(found) == self._far_at else b""  # else it was cut off since

    def _read(self, length: int, offset: int) -> bytes:
        if self._at_hand:
            return self._at_hand[offset : offset + length]
        return self._file.read(length, offset)

    def all(self) -> dict[ObjectId, int]:
        """Every object with its offset."""
        table = self._file.read(self._far_at - _IDS_AT, _IDS_AT)
        offsets = struct.unpack_from(f">{self.count}I", table, self._offsets_at - _IDS_AT)
        ids = (table[at : at + ID_LENGTH] for at in range(0, self.count * ID_LENGTH, ID_LENGTH))
        return {oid: self._resolved(offset) for oid, offset in zip(ids, offsets, strict=True)}

    def ids(self, first: int = 0, last: int = 255) -> bytes:
        """The ids that begin with one of these bytes, sorted, one after another."""
        low = self._fanout[first - 1] if first else 0
        return self._file.read((self._fanout[last] - low) * ID_LENGTH, _IDS_AT + low * ID_LENGTH)

    def entries(self) -> tuple["array[int]", "array[int]"]:
        """CRCs and offsets of all objects, in the order of their ids."""
        checksums, offsets = array("I"), array("I")
        checksums.frombytes(self._file.read(self.count * _CRC_SIZE, _IDS_AT + self.count * ID_LENGTH))
        offsets.frombytes(self._file.read(self.count * _OFFSET_SIZE, self._offsets_at))
        if sys.byteorder == "little":
            checksums.byteswap()
            offsets.byteswap()
        return checksums, array("Q", map(self._resolved, offsets))

    def is_intact(self) -> bool:
        """Does the whole file still have the checksum that stands at its end?"""
        end = self._file.size - _DIGEST
        return self._file.digest(end) == self._file.read(_DIGEST, end)

    @property
    def pack_checksum(self) -> bytes:
        """What stands at the end of the pack that this is the index of."""
        return self._file.read(_DIGEST, self._file.size - _TRAILER)

    def _resolved(self, offset: int) -> int:
        """Offsets beyond 2 GiB are in a second table."""
        if offset < _FAR:
            return offset
        return int.from_bytes(self._file.read(8, self._far_at + (offset - _FAR) * 8))


class Finder:
    """All packs of a folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._names: set[str] = set()
        self._small: dict[ObjectId, Place] = {}
        self._copies: dict[ObjectId, list[Place]] = {}  # of what several small packs hold
        self._large: dict[str, PackIndex] = {}
        self._last: tuple[ObjectId, Place] | None = None  # size, type and content are asked for in a row
        self.unread: list[OSError] = []  # why indexes could not be read since the last `refresh`

    def __len__(self) -> int:
        """How many packs there were at the last `refresh`, and have come since."""
        return len(self._names)

    def find(self, oid: ObjectId) -> Place | None:
        """Where an object lies; None if it is in no pack that was there at the last `refresh`."""
        place = self._small.get(oid)
        return self._find_in_large(oid) if place is None else place

    def _find_in_large(self, oid: ObjectId) -> Place | None:
        if self._last is not None and self._last[0] == oid:
            return self._last[1]
        for name, index in self._large.items():
            offset = index.find(oid)
            if offset is not None:
                if self._last is None or self._last[1][0] != name:
                    # What is read together was often written together: this pack is asked first from now on.
                    self._large = {name: index, **self._large}
                self._last = oid, (name, offset)
                return name, offset
        return None

    def find_all(self, oid: ObjectId) -> list[Place]:
        """Everywhere that an object lies: where one copy is damaged, another may not be."""
        first = self._small.get(oid)
        places = [] if first is None else [first, *self._copies.get(oid, ())]
        for name, index in self._large.items():
            try:
                offset = index.find(oid)
            except OSError as error:
                self.unread.append(error)
                continue
            if offset is not None:
                places.append((name, offset))
        return places

    def all(self) -> Iterator[tuple[ObjectId, Place]]:
        """Every object, with one place where it lies."""
        yield from list(self._small.items())
        for name, index in self._large.items():
            yield from ((oid, (name, offset)) for oid, offset in index.all().items())

    def refresh(self) -> None:
        """Take note of packs that came and went."""
        self.unread = []
        files = set(os.listdir(self._folder))
        names = {name.removesuffix(".idx") for name in files if name.endswith(".idx")}
        names = {name for name in names if name.startswith("pack-") and name + ".pack" in files}
        if gone := self._names - names:
            self._forget(gone)
        for name in names - self._names:
            self._load(name)

    def added(self, name: str, offsets: Mapping[ObjectId, int] | None = None) -> None:
        """Take note of one pack that came. What is in a small one may be known without its index."""
        if name in self._names:
            return
        if offsets is None or not self._is_remembered(len(offsets)):
            self._load(name)
        else:
            self._take(name, offsets)
            self._names.add(name)

    def learn(self, oid: ObjectId, place: Place) -> None:
        """An object lies there, though no index tells it."""
        self._small.setdefault(oid, place)

    def take_at_hand(self) -> None:
        """Keep those large indexes in memory that are asked often. Nobody should be waiting: it reads all of them."""
        for index in self._large.values():
            if index.should_be_at_hand:
                index.take_at_hand()

    def path(self, name: str, suffix: str) -> str:
        """A pack's file."""
        return os.path.join(self._folder, name + suffix)

    def _load(self, name: str) -> None:
        try:
            index = PackIndex(self.path(name, ".idx"))
            if self._is_remembered(index.count):
                self._take(name, index.all())
            else:
                self._large[name] = index
        except OSError as error:
            self.unread.append(error)
            return  # no descriptor was left, or the disk failed once: the next look for it may find it
        except (ValueError, struct.error):
            pass  # damaged: its objects are not found, so that the next save stores them again
        self._names.add(name)

    def _is_remembered(self, count: int) -> bool:
        """Is a pack of so many objects to be kept in the dictionary?"""
        return count <= SMALL_PACK and len(self._small) + count <= MOST_REMEMBERED

    def _forget(self, gone: set[str]) -> None:
        """Packs went. What others hold is not read again: after a merge there may be thousands of them."""
        self._names -= gone
        self._last = None
        copies: dict[ObjectId, list[Place]] = {}
        small: dict[ObjectId, Place] = {}
        for oid, first in self._small.items():
            places = [place for place in (first, *self._copies.get(oid, ())) if place[0] not in gone]
            if places:
                small[oid] = places[0]
            if places[1:]:
                copies[oid] = places[1:]
        self._small, self._copies = small, copies
        self._large = {name: index for name, index in self._large.items() if name not in gone}

    def _take(self, name: str, found: Mapping[ObjectId, int]) -> None:
        for oid, offset in found.items():
            if oid in self._small:
                self._copies.setdefault(oid, []).append((name, offset))
            else:
                self._small[oid] = name, offset
