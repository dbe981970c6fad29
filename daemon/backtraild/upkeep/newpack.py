"""A pack under way: a temporary file to which objects are added, and then its index."""

import hashlib
import os
import secrets
import zlib
from array import array
from collections.abc import Iterable

from backtraild import durable
from backtraild.store.failing import failing
from backtraild.store.indexing import encode_sorted
from backtraild.store.tidying import UPKEEP_PREFIX
from backtraild.store.unpacking import HEADER
from backtraild.upkeep.catalogue import Catalogue

PIECE = 1024 * 1024

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class NewPack:
    """Objects by their position in the catalogue; `finish` makes them durable, `abandon` leaves no trace."""

    def __init__(self, folder: str, catalogue: Catalogue) -> None:
        self._folder = folder
        self._catalogue = catalogue
        # By position in the catalogue: where an object begins in the new pack, 0 if it is not there, and its CRC.
        self._offsets = array("Q", bytes(8 * len(catalogue)))
        self._checksums = array("I", bytes(4 * len(catalogue)))
        self._name = UPKEEP_PREFIX + secrets.token_hex(8)
        self._descriptor = os.open(os.path.join(folder, self._name), _NEW_FILE, 0o400)
        self._digest = hashlib.sha1(usedforsecurity=False)
        self._buffer = bytearray()
        self._length = 0

    def __contains__(self, position: int) -> bool:
        return self._offsets[position] > 0

    @property
    def is_empty(self) -> bool:
        """Has no object been added?"""
        return self._length <= HEADER.size

    def begin(self, count: int) -> None:
        """So many objects are going to be added."""
        self._append(HEADER.pack(b"PACK", 2, count))

    def distance(self, position: int) -> int:
        """How far before the end an object begins."""
        return self._length - self._offsets[position]

    def add(self, position: int, pieces: Iterable[bytes]) -> None:
        """Add an object as it is to lie in the pack."""
        start, checksum = self._length, 0
        for piece in pieces:
            checksum = zlib.crc32(piece, checksum)
            self._append(piece)
        self._offsets[position], self._checksums[position] = start, checksum

    def finish(self) -> str:
        """The temporary name of the pack, durable with its index."""
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
        return self._name

    def abandon(self) -> None:
        """Remove what was written."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        os.unlink(os.path.join(self._folder, self._name))

    def _append(self, content: bytes) -> None:
        self._buffer += content
        self._length += len(content)
        if len(self._buffer) >= PIECE:
            self._flush()

    def _flush(self) -> None:
        self._digest.update(self._buffer)
        with failing("tidied"):  # a full disk is no damage, and is told as what it is
            durable.write_all(self._descriptor, self._buffer)
        self._buffer.clear()
