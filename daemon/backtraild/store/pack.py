"""Writing a pack: all new objects of one checkpoint in one file, durable before anything points at it.

hashlib and zlib let other threads run while they work; libgit2's own writers do not. Content may be added
as a stream, so memory does not follow the size of a file. The number of objects stands at the beginning of
a pack and its checksum at the end: what fits into the buffer is hashed there, what was spilled to disk is
read again (from the page cache) when the pack is finished.
"""

import contextlib
import hashlib
import os
import struct
from array import array
from collections.abc import Callable, Iterator, KeysView
from typing import NamedTuple

from backtraild import durable
from backtraild.blanks import Blanks
from backtraild.model import ContentMoved, ObjectId, Packed
from backtraild.store.deflating import COMPRESSION_LEVEL, deflate, packed
from backtraild.store.indexes import SMALL_PACK
from backtraild.store.indexing import encode_sorted
from backtraild.store.objects import ObjectType, hash_prefix, object_id
from backtraild.store.packed import decode_header, encode_header

SPILL_SIZE = 4 * 1024 * 1024
# Whoever waits for a checkpoint of a few files waits a tenth of that for deflating their objects. A small one takes as
# long as several kilobytes, and all it saves are a few bytes of the disk until packs are merged, when everything is
# deflated. So much of a pack is left as it is: of small objects, and of larger ones.
SMALL_OBJECT = 4 * 1024
AS_IT_IS_BYTES, AS_IT_IS_BYTES_OF_LARGER = 256 * 1024, 16 * 1024

_HEADER = struct.Struct(">4sII")
_NO_LINES = -1


class Pledge(NamedTuple):
    """A pack that is durable under the name of a file made ahead, or, without one, under its own."""

    stem: str
    path: str | None


class PackWriter:
    """Collects objects; `finish` and `pledge` make them durable, `abandon` leaves no trace.

    `known` tells whether the store already holds an object, which is then not written again. `claim` is told how
    many bytes are about to be written, and may refuse; a negative number tells that so many are gone again.
    """

    def __init__(
        self,
        folder: str,
        known: Callable[[ObjectId], bool],
        claim: Callable[[int], None] | None = None,
        blanks: Blanks | None = None,
    ) -> None:
        self._folder = folder
        self._blanks = blanks or Blanks(folder)
        self._known = known
        self._claim = claim
        self._claimed = 0
        self._places: dict[ObjectId, int] = {}  # ids in the order of writing
        self._sizes = array("Q")
        self._lines = array("q")
        self._checksums = array("I")
        self._offsets = array("Q")
        self._buffer = bytearray(_HEADER.size)
        self._spilled = 0  # bytes already in the temporary file
        self._descriptor = -1
        self._temporary = self._temporary_index = ""
        self._is_lasting = False
        self.path = ""  # the file that was written into, whatever became of it

    def __len__(self) -> int:
        return len(self._offsets)

    @property
    def ids(self) -> KeysView[ObjectId]:
        """The objects that this pack will hold."""
        return self._places.keys()

    def add(self, kind: ObjectType, content: bytes, *, is_new: bool = False) -> ObjectId:
        """Add an object that is in memory. Of one that is new it need not be found out whether the store has it."""
        oid = object_id(kind, content)
        if not (oid in self._places if is_new else self._has(oid)):
            room = AS_IT_IS_BYTES if len(content) <= SMALL_OBJECT else AS_IT_IS_BYTES_OF_LARGER
            self._append(packed(kind, oid, content, as_it_is=self._position() + len(content) <= room))
        return oid

    def add_packed(self, packed: Packed) -> None:
        """Add an object that `pack_blob` made, perhaps in another process."""
        if not self._has(packed.oid):
            self._append(packed)

    def has_blob(self, oid: ObjectId) -> bool:
        """Does this pack or the store hold a content? The store notes that it was asked, so that it stays."""
        return self._has(oid)

    def add_blob(self, content: bytes) -> ObjectId:
        """Add a file's content."""
        return self.add(ObjectType.BLOB, content)

    def add_blob_stream(self, size: int, read: Callable[[], Iterator[bytes]]) -> ObjectId:
        """Add a large file's content, read once to learn its id and once more if it is new.

        Raises ContentMoved, and forgets what it wrote, when the two readings differ.
        """
        oid, length = _hash_stream(size, read())
        if length != size:
            raise ContentMoved
        if not self._has(oid):
            self._add_new_stream(oid, size, read())
        return oid

    def blob_size(self, oid: ObjectId) -> int | None:
        """Length of a blob that is in this pack; None if it is not."""
        place = self._places.get(oid)
        return None if place is None else self._sizes[place]

    def blob_lines(self, oid: ObjectId) -> int | None:
        """Lines of a blob that is in this pack; None if it is binary, or too large to have been counted."""
        lines = self._lines[self._places[oid]]
        return None if lines == _NO_LINES else lines

    def read_blob(self, oid: ObjectId) -> bytes | None:
        """A blob that is in this pack, before the pack is finished; None if it is not."""
        place = self._places.get(oid)
        if place is None:
            return None
        packed = self._packed(place)
        return bytes(deflate.decompress(packed[decode_header(packed)[2] :]))

    @property
    def offsets(self) -> dict[ObjectId, int]:
        """Where in the pack each object begins."""
        return dict(zip(self._places, self._offsets, strict=True))

    def finish(self, *, is_index_synced: bool = True) -> str | None:
        """Write pack and index, synced, under their final names; the stem of those, or None if empty.

        The index may be left for the caller to sync: a pack without it is whole, and it is made again from the pack.
        """
        if not self._offsets:
            self.abandon()
            return None
        stem = self._written(is_index_synced=is_index_synced)
        os.rename(self._temporary, stem + ".pack")
        self._show_index(stem)
        durable.sync_folder(self._folder)
        self._is_over()
        return stem

    @property
    def may_be_pledged(self) -> bool:
        """Is it so small that a start reads it in no time? To be asked before it is written."""
        return 0 < len(self._offsets) <= SMALL_PACK and not self._spilled

    def pledge(self) -> Pledge:
        """The same with one sync: the pack is durable under its first name, and has the final one for all to see.

        The final name and the index are left for the caller to sync, who removes the first name after that.
        """
        stem = self._written(is_index_synced=False)
        path: str | None = self._temporary
        try:
            os.link(self._temporary, stem + ".pack")
        except OSError:  # a disk without links; or one that fails, and then this does so, too
            os.rename(self._temporary, stem + ".pack")
            path = None
        self._show_index(stem)
        if path is None or not self._is_lasting:
            durable.sync_folder(self._folder)
        self._is_over()
        return Pledge(stem, path)

    def abandon(self) -> None:
        """Drop everything; harmless after `finish`. What can't be removed is removed at the next start."""
        if self._descriptor >= 0:
            with contextlib.suppress(OSError):
                self._close()
        for path in filter(None, (self._temporary, self._temporary_index)):
            with contextlib.suppress(OSError):
                os.unlink(path)
        self._temporary = self._temporary_index = ""
        self._take(-self._claimed)

    def _written(self, *, is_index_synced: bool) -> str:
        """Write pack and index under names that mean nothing; the stem of their final ones."""
        checksum = self._complete()
        parts = encode_index(list(self._places), self._checksums, self._offsets, checksum)
        self._take(len(self._buffer) + sum(map(len, parts)))
        self._write_out()
        self._write_index(parts, is_synced=is_index_synced)
        with durable.named(self._temporary):
            os.fsync(self._descriptor)
        self._close()
        return os.path.join(self._folder, f"pack-{checksum.hex()}")

    def _show_index(self, stem: str) -> None:
        """Git looks for the index first: when that has its name, the pack must already have its own."""
        os.rename(self._temporary_index, stem + ".idx")

    def _is_over(self) -> None:
        self._temporary, self._temporary_index, self._claimed = "", "", 0

    def _has(self, oid: ObjectId) -> bool:
        return oid in self._places or self._known(oid)

    def _position(self) -> int:
        return self._spilled + len(self._buffer)

    def _packed(self, place: int) -> bytes:
        """An object as it stands in the pack: in the file, in the buffer, or over the border between them."""
        start = self._offsets[place]
        end = self._offsets[place + 1] if place + 1 < len(self._offsets) else self._position()
        if start >= self._spilled:
            return bytes(self._buffer[start - self._spilled : end - self._spilled])
        spilled = os.pread(self._descriptor, end - start, start)
        return spilled + bytes(self._buffer[: end - start - len(spilled)])

    def _append(self, packed: Packed) -> None:
        oid, size, lines, checksum, content = packed
        self._append_entry(oid, checksum, self._spilled + len(self._buffer), size, lines)
        self._buffer += content
        if len(self._buffer) >= SPILL_SIZE:
            self._spill()

    def _append_entry(self, oid: ObjectId, checksum: int, offset: int, size: int, lines: int | None) -> None:
        self._places[oid] = len(self._offsets)
        self._sizes.append(size)
        self._lines.append(_NO_LINES if lines is None else lines)
        self._checksums.append(checksum)
        self._offsets.append(offset)

    def _add_new_stream(self, oid: ObjectId, size: int, chunks: Iterator[bytes]) -> None:
        start = self._position()
        digest = hashlib.sha1(hash_prefix(ObjectType.BLOB, size), usedforsecurity=False)
        squeeze = deflate.compressobj(COMPRESSION_LEVEL)
        checksum = 0
        try:
            packed = encode_header(ObjectType.BLOB, size)
            for chunk in chunks:
                digest.update(chunk)
                checksum = deflate.crc32(packed, checksum)
                self._buffer += packed
                self._spill_if_full()
                packed = squeeze.compress(chunk)
            packed += squeeze.flush()
            if digest.digest() != oid:
                raise ContentMoved
        except BaseException:
            self._forget_from(start)
            raise
        self._append_entry(oid, deflate.crc32(packed, checksum), start, size, None)
        self._buffer += packed
        self._spill_if_full()

    def _forget_from(self, position: int) -> None:
        """Take back the bytes of an object that turned out to be torn."""
        if position < self._spilled:
            os.ftruncate(self._descriptor, position)
            os.lseek(self._descriptor, position, os.SEEK_SET)
            self._take(position - self._spilled)
            self._spilled = position
        del self._buffer[position - self._spilled :]

    def _spill_if_full(self) -> None:
        if len(self._buffer) >= SPILL_SIZE:
            self._spill()

    def _take(self, size: int) -> None:
        if self._claim is not None and size:
            self._claim(size)
            self._claimed += size

    def _spill(self) -> None:
        self._take(len(self._buffer))
        self._write_out()

    def _write_out(self) -> None:
        if self._descriptor < 0:
            self._descriptor, self._temporary, self._is_lasting = self._blanks.take(0o400)
            self.path = self._temporary
        with durable.named(self._temporary):
            durable.write_all(self._descriptor, self._buffer)
        self._spilled += len(self._buffer)
        self._buffer.clear()

    def _complete(self) -> bytes:
        """Put the count in front and the checksum behind, which is not written yet."""
        header = _HEADER.pack(b"PACK", 2, len(self._offsets))
        if self._spilled:
            self._spill()
            os.pwrite(self._descriptor, header, 0)
            checksum = self._hash_spilled()
        else:
            self._buffer[: _HEADER.size] = header
            checksum = hashlib.sha1(self._buffer, usedforsecurity=False).digest()
        self._buffer += checksum
        return checksum

    def _write_index(self, parts: list[bytes], *, is_synced: bool) -> None:
        descriptor, self._temporary_index, _ = self._blanks.take(0o400)
        try:
            with durable.named(self._temporary_index):
                durable.write_parts(descriptor, parts)
                if is_synced:
                    os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _close(self) -> None:
        # Forgotten first: after a failed close the number may already belong to another file.
        descriptor, self._descriptor = self._descriptor, -1
        os.close(descriptor)

    def _hash_spilled(self) -> bytes:
        digest = hashlib.sha1(usedforsecurity=False)
        for offset in range(0, self._spilled, SPILL_SIZE):
            digest.update(os.pread(self._descriptor, SPILL_SIZE, offset))
        return digest.digest()


def _hash_stream(size: int, chunks: Iterator[bytes]) -> tuple[ObjectId, int]:
    digest = hashlib.sha1(hash_prefix(ObjectType.BLOB, size), usedforsecurity=False)
    length = 0
    for chunk in chunks:
        digest.update(chunk)
        length += len(chunk)
    return digest.digest(), length


def encode_index(
    ids: list[ObjectId], checksums: "array[int]", offsets: "array[int]", pack: bytes
) -> list[bytes]:
    """The pack's index, from what is in the order of writing."""
    ranking = sorted(range(len(ids)), key=ids.__getitem__)
    return encode_sorted(
        b"".join(map(ids.__getitem__, ranking)),
        array("I", map(checksums.__getitem__, ranking)),
        array("Q", map(offsets.__getitem__, ranking)),
        pack,
    )
