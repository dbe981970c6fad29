"""Several packs become one: what is kept is copied as it is, each byte checked, without inflating it."""

import hashlib
import os
import secrets
import zlib
from array import array
from collections.abc import Mapping

from backtrail.errors import StoreDamaged
from backtraild import durable
from backtraild.model import ObjectId
from backtraild.store.failing import failing
from backtraild.store.indexing import encode_sorted
from backtraild.store.objects import ObjectType
from backtraild.store.pack import COMPRESSION_LEVEL, deflate
from backtraild.store.packed import encode_header
from backtraild.store.packs import DAMAGE, decode_entry
from backtraild.store.reader import Objects
from backtraild.store.tidying import UPKEEP_PREFIX
from backtraild.store.unpacking import HEADER
from backtraild.upkeep.catalogue import Catalogue
from backtraild.upkeep.listing import Listing

PIECE = 1024 * 1024

_OFFSET_DELTA, _REF_DELTA = 6, 7
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class PackDamaged(Exception):
    """Something in a pack is not what was stored."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Merger:
    """Makes packs out of packs, as temporary files beside them."""

    def __init__(self, folder: str, catalogue: Catalogue, objects: Objects) -> None:
        self._folder = folder
        self._catalogue = catalogue
        self._objects = objects

    def merge(self, kept: Mapping[str, bytearray]) -> str:
        """One pack of what is kept of each pack, by place; its temporary name. Raises PackDamaged."""
        merge = _Merge(self._folder, self._catalogue, self._objects)
        try:
            return merge.make(kept)
        except BaseException:
            merge.abandon()
            raise


class _Merge:
    def __init__(self, folder: str, catalogue: Catalogue, objects: Objects) -> None:
        self._folder = folder
        self._catalogue = catalogue
        self._objects = objects
        # By position in the catalogue: where an object begins in the new pack, 0 if it is not there, and its CRC.
        self._offsets = array("Q", bytes(8 * len(catalogue)))
        self._checksums = array("I", bytes(4 * len(catalogue)))
        self._name = UPKEEP_PREFIX + secrets.token_hex(8)
        self._descriptor = os.open(os.path.join(folder, self._name), _NEW_FILE, 0o400)
        self._digest = hashlib.sha1(usedforsecurity=False)
        self._buffer = bytearray()
        self._length = 0

    def make(self, kept: Mapping[str, bytearray]) -> str:
        taken = bytearray(len(self._catalogue))
        ranks = {name: self._chosen(name, flags, taken) for name, flags in kept.items()}
        self._append(HEADER.pack(b"PACK", 2, sum(map(len, ranks.values()))))
        for name, chosen in ranks.items():
            try:
                self._copy(Listing(self._folder, name), chosen)
            except (*DAMAGE, StoreDamaged) as error:
                raise PackDamaged(name) from error
        self._finish()
        return self._name

    def abandon(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        os.unlink(os.path.join(self._folder, self._name))

    def _chosen(self, name: str, flags: bytearray, taken: bytearray) -> "array[int]":
        """Which objects to copy from a pack, in the order in which they lie there; those from others are left out."""
        listing = Listing(self._folder, name)
        chosen = array("I")
        for rank, place in enumerate(listing.by_offset):
            position = self._catalogue.position(listing.id_at(place)) if flags[place] else 0
            if flags[place] and not taken[position]:
                taken[position] = 1
                chosen.append(rank)
        return chosen

    def _copy(self, listing: Listing, ranks: "array[int]") -> None:
        for rank in ranks:
            place = listing.by_offset[rank]
            position = self._catalogue.position(listing.id_at(place))
            start = self._length
            self._checksums[position] = self._copy_object(
                listing, place, listing.end_of(rank), listing.checksums[place]
            )
            self._offsets[position] = start

    def _copy_object(self, listing: Listing, place: int, end: int, expected: int) -> int:
        """Append an object; the CRC of what was appended."""
        offset = listing.offsets[place]
        raw = listing.file.read(min(PIECE, end - offset), offset)
        kind = raw[0] >> 4 & 7
        if kind in (_OFFSET_DELTA, _REF_DELTA):
            raw = listing.file.read(end - offset, offset)
            _check(zlib.crc32(raw), expected)
            return self._append(self._moved(listing, place, raw))
        checksum = 0
        while raw:
            checksum = zlib.crc32(raw, checksum)
            self._append(raw)
            offset += len(raw)
            raw = listing.file.read(min(PIECE, end - offset), offset)
        _check(checksum, expected)
        return checksum

    def _moved(self, listing: Listing, place: int, raw: bytes) -> bytes:
        """A delta with the distance that its base has in the new pack; the whole object if that is not before it."""
        offset = listing.offsets[place]
        head = decode_entry(listing.file, offset)
        base = listing.base(place)
        at = 0 if base is None else self._offsets[self._catalogue.position(listing.id_at(base))]
        if not at:
            return self._whole(listing.id_at(place))
        return (
            encode_header(_OFFSET_DELTA, head.size)
            + _encode_distance(self._length - at)
            + raw[head.start - offset :]
        )

    def _whole(self, oid: ObjectId) -> bytes:
        for kind in ObjectType:
            try:
                content = self._objects.read(oid, kind)
            except StoreDamaged:
                continue
            return encode_header(kind, len(content)) + bytes(deflate.compress(content, COMPRESSION_LEVEL))
        raise StoreDamaged(f"Object {oid.hex()} in the store can't be read.")

    def _append(self, content: bytes) -> int:
        self._buffer += content
        self._length += len(content)
        if len(self._buffer) >= PIECE:
            self._flush()
        return zlib.crc32(content)

    def _flush(self) -> None:
        self._digest.update(self._buffer)
        with failing("tidied"):  # a full disk is no damage, and is told as what it is
            durable.write_all(self._descriptor, self._buffer)
        self._buffer.clear()

    def _finish(self) -> None:
        self._flush()
        checksum = self._digest.digest()
        durable.write_all(self._descriptor, checksum)
        os.fsync(self._descriptor)
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)
        ids, checksums, offsets = bytearray(), array("I"), array("Q")
        for position, offset in enumerate(self._offsets):
            if offset:
                ids += self._catalogue.id_at(position)
                checksums.append(self._checksums[position])
                offsets.append(offset)
        parts = encode_sorted(bytes(ids), checksums, offsets, checksum)
        durable.write_synced(os.path.join(self._folder, self._name + ".idx"), parts, 0o400)


def _check(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError("its checksum is wrong")


def _encode_distance(distance: int) -> bytes:
    """Seven bits a byte, the high ones first; each further byte stands for one more."""
    encoded = bytearray([distance & 0x7F])
    while distance := distance >> 7:
        distance -= 1
        encoded.append(0x80 | distance & 0x7F)
    return bytes(reversed(encoded))
