"""Finding objects in packs: which one, and where in it.

There may be thousands of packs with a few objects each and a few packs with very many. The small ones are
kept in one dictionary; in a large one's index an object is looked up on disk. Nothing is mapped into memory:
a bad sector under a mapping would end the process, a failed read is an error like any other.
"""

import os
import struct
from bisect import bisect_left

from backtraild.model import ObjectId
from backtraild.store.objects import ID_LENGTH

SMALL_PACK = 300  # objects: about 250 bytes of memory each

_VERSION_2 = b"\377tOc\0\0\0\2"
_FANOUT = struct.Struct(">256I")
_IDS_AT = len(_VERSION_2) + _FANOUT.size
_CRC_SIZE, _OFFSET_SIZE = 4, 4
_TRAILER = 40  # the checksums of the pack and of the index
_FAR = 0x8000_0000


class File:
    """An open file that is closed with the last reference to it."""

    def __init__(self, path: str) -> None:
        self._descriptor = -1
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def read(self, length: int, offset: int) -> bytes:
        """So many bytes from there; fewer only at the end of the file."""
        return os.pread(self._descriptor, length, offset)

    @property
    def size(self) -> int:
        """How long the file is now."""
        return os.fstat(self._descriptor).st_size


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

    def find(self, oid: ObjectId) -> int | None:
        """The object's offset in the pack; None if it is not there."""
        low = self._fanout[oid[0] - 1] if oid[0] else 0
        high = self._fanout[oid[0]]
        ids = self._file.read((high - low) * ID_LENGTH, _IDS_AT + low * ID_LENGTH)
        at = bisect_left(range(high - low), oid, key=lambda at: ids[at * ID_LENGTH : (at + 1) * ID_LENGTH])
        if ids[at * ID_LENGTH : (at + 1) * ID_LENGTH] != oid:
            return None
        raw = self._file.read(_OFFSET_SIZE, self._offsets_at + (low + at) * _OFFSET_SIZE)
        return self._resolved(int.from_bytes(raw))

    def all(self) -> dict[ObjectId, int]:
        """Every object with its offset."""
        table = self._file.read(self._far_at - _IDS_AT, _IDS_AT)
        offsets = struct.unpack_from(f">{self.count}I", table, self._offsets_at - _IDS_AT)
        ids = (table[at : at + ID_LENGTH] for at in range(0, self.count * ID_LENGTH, ID_LENGTH))
        return {oid: self._resolved(offset) for oid, offset in zip(ids, offsets, strict=True)}

    def _resolved(self, offset: int) -> int:
        """Offsets beyond 2 GiB are in a second table."""
        if offset < _FAR:
            return offset
        return int.from_bytes(self._file.read(8, self._far_at + (offset - _FAR) * 8))


class Finder:
    """All packs of a folder. A place is the pack's name and the offset in it."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._names: set[str] = set()
        self._small: dict[ObjectId, tuple[str, int]] = {}
        self._large: dict[str, PackIndex] = {}

    def find(self, oid: ObjectId) -> tuple[str, int] | None:
        """Where an object lies; None if it is in no pack that was there at the last `refresh`."""
        place = self._small.get(oid)
        if place is None:
            for name, index in self._large.items():
                offset = index.find(oid)
                if offset is not None:
                    return name, offset
        return place

    def refresh(self) -> None:
        """Take note of packs that came and went."""
        files = set(os.listdir(self._folder))
        names = {name.removesuffix(".idx") for name in files if name.endswith(".idx")}
        names = {name for name in names if name.startswith("pack-") and name + ".pack" in files}
        if not names >= self._names:
            self._names, self._small, self._large = set(), {}, {}
        for name in names - self._names:
            self._load(name)
        self._names = names

    def added(self, name: str) -> None:
        """Take note of one pack that came."""
        if name not in self._names:
            self._load(name)
            self._names.add(name)

    def path(self, name: str, suffix: str) -> str:
        """A pack's file."""
        return os.path.join(self._folder, name + suffix)

    def _load(self, name: str) -> None:
        try:
            index = PackIndex(self.path(name, ".idx"))
            if index.count > SMALL_PACK:
                self._large[name] = index
            else:
                self._small.update({oid: (name, offset) for oid, offset in index.all().items()})
        except (OSError, ValueError, struct.error):
            return  # damaged: its objects are not found, so that the next save stores them again
