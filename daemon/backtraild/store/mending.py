"""Mending packs: an index is made again from its pack, and what is left of a broken pack moves into a new one.

Whatever is taken out of the repository lies in `quarantine` beside it afterwards; nothing is ever deleted here.
"""

import contextlib
import errno
import hashlib
import os
from array import array
from collections.abc import Iterator
from typing import NamedTuple

from backtrail.errors import StoreDamaged
from backtraild import durable
from backtraild.model import ObjectId
from backtraild.store import strays, unpacking
from backtraild.store.indexes import File, PackIndex, Place
from backtraild.store.objects import ObjectType, hash_prefix, object_id
from backtraild.store.pack import PackWriter, encode_index
from backtraild.store.packs import DAMAGE, Packs
from backtraild.store.unpacking import Part

# Of the newest packs, so many bytes are read when a store is opened; the others are looked at from both ends.
READ_AT_OPENING = 16 * 1024 * 1024
QUARANTINE = "quarantine"
STREAM_FROM = 8 * 1024 * 1024


class Mended(NamedTuple):
    """What was done, as a sentence, and whether something may be lost all the same."""

    sentence: str
    is_loss: bool


def mend(git_dir: str, read: int | None = None) -> list[Mended]:
    """Mend what is broken among the packs.

    `read` is how many bytes may be read to find damage in the middle of packs; None is all of them.
    """
    mender = _Mender(git_dir)
    mended = [mender.mend(name) for name in sorted(flawed(git_dir, read))]
    return mended + mender.set_loose_aside() if read is None else mended


def flawed(git_dir: str, read: int | None = None) -> dict[str, str]:
    """The packs that have something wrong with them or with their indexes, and what."""
    folder = os.path.join(git_dir, "objects", "pack")
    found: dict[str, str] = {}
    for name, size in _newest_first(folder):
        try:
            flaw = _flaw(os.path.join(folder, name), whole=read is None or size <= read)
        except FileNotFoundError:  # maintenance was faster
            continue
        read = None if read is None else max(0, read - size)
        if flaw is not None:
            found[name] = flaw
    return found


def quarantine_of(git_dir: str) -> str:
    """Where broken files of a repository are kept."""
    return os.path.join(os.path.dirname(os.path.abspath(git_dir)), QUARANTINE)


def _newest_first(folder: str) -> list[tuple[str, int]]:
    """The packs, and how large they are."""
    found: list[tuple[int, str, int]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("pack-") and entry.name.endswith(".pack"):
                with contextlib.suppress(FileNotFoundError):  # maintenance was faster
                    stat = entry.stat()  # kept for each of a thousand packs, it would take a megabyte
                    found.append((stat.st_mtime_ns, entry.name.removesuffix(".pack"), stat.st_size))
    return [(name, size) for _, name, size in sorted(found, reverse=True)]


def _flaw(stem: str, whole: bool) -> str | None:
    pack = File(stem + ".pack")
    try:
        index = PackIndex(stem + ".idx")
        if not index.is_intact():
            return "its index is damaged"
    except FileNotFoundError:
        return "its index is missing"
    except DAMAGE as error:
        return f"its index is damaged: {error}"
    try:
        if unpacking.count_of(pack) != index.count or _end(pack) != index.pack_checksum:
            return "it does not belong to its index"
        return None if not whole or unpacking.is_whole(pack) else "its checksum is wrong"
    except DAMAGE as error:
        return str(error)


def _end(pack: File) -> bytes:
    return pack.read(unpacking.TRAILER, max(0, pack.size - unpacking.TRAILER))


class _Mender:
    """Works on one folder of packs, which nobody else changes."""

    def __init__(self, git_dir: str) -> None:
        self._folder = os.path.join(git_dir, "objects", "pack")
        self._quarantine = quarantine_of(git_dir)

    def mend(self, name: str) -> Mended:
        """Make the index again, or save what can be read."""
        pack = File(self._path(name, ".pack"))
        try:
            if not unpacking.is_whole(pack):
                raise ValueError("its checksum is wrong")
            self._write_index(name, pack, unpacking.parts(pack))
            return Mended(f"The index of {name} was damaged or missing and was made again.", is_loss=False)
        except (*DAMAGE, StoreDamaged) as error:
            if isinstance(error, OSError) and error.errno != errno.EIO:
                raise
            return self._salvage(name, pack, error)

    def set_loose_aside(self) -> list[Mended]:
        """Damaged objects outside of packs, which only git commands that somebody ran put there."""
        broken = list(strays.damaged(os.path.dirname(self._folder)))
        for path in broken:
            os.makedirs(self._quarantine, 0o700, exist_ok=True)
            name = os.path.basename(os.path.dirname(path)) + os.path.basename(path)
            os.rename(path, _free_name(os.path.join(self._quarantine, name)))
        told = f"{len(broken):,} objects were damaged and lie in {self._quarantine} now."
        return [Mended(told, is_loss=True)] if broken else []

    def _write_index(self, name: str, pack: File, parts: list[Part]) -> None:
        found = dict(self._identified(self._packs(), name, parts))
        if len(found) != len(parts):
            raise ValueError("it has deltas of what is missing")
        content = encode_index(
            [found[part] for part in parts],
            array("I", [part.checksum for part in parts]),
            array("Q", [part.offset for part in parts]),
            _end(pack),
        )
        durable.replace_file(self._path(name, ".idx"), b"".join(content), 0o400)

    def _salvage(self, name: str, pack: File, error: Exception) -> Mended:
        writer = PackWriter(self._folder, lambda _: False)
        packs = self._packs()
        try:
            parts = list(unpacking.remains(pack, self._known_offsets(name)))
            usable = {part for part, _ in self._identified(packs, name, parts)}
            for part in parts:
                if part in usable:
                    _copy(packs, (name, part.offset), writer)
            count = len(writer)
            stem = writer.finish()
        finally:
            writer.abandon()
        if stem == self._path(name, ""):  # the same pack again, in the place of the broken one
            return Mended(f"Pack {name} was damaged ({error}) and was written again.", is_loss=False)
        self._set_aside(name)
        told = f"{count:,} objects were taken out of it, and it lies in {self._quarantine} now."
        return Mended(f"Pack {name} was damaged ({error}): {told}", is_loss=True)

    @staticmethod
    def _identified(packs: Packs, name: str, parts: list[Part]) -> Iterator[tuple[Part, ObjectId]]:
        """The parts that can be read, with the ids of what they hold. A delta may come before its base."""
        pending, before = parts, 0
        while pending and len(pending) != before:
            before, left = len(pending), list[Part]()
            for part in pending:
                try:
                    oid = _identity(packs, (name, part.offset))
                except (*DAMAGE, StoreDamaged):
                    left.append(part)
                    continue
                packs.learn(oid, (name, part.offset))
                yield part, oid
            pending = left

    def _packs(self) -> Packs:
        packs = Packs(self._folder)
        packs.refresh()
        return packs

    def _known_offsets(self, name: str) -> list[int]:
        try:
            index = PackIndex(self._path(name, ".idx"))
            return list(index.all().values()) if index.is_intact() else []
        except DAMAGE:
            return []

    def _set_aside(self, name: str) -> None:
        os.makedirs(self._quarantine, 0o700, exist_ok=True)
        # The index goes first: git looks for it, and would miss the pack.
        for file in sorted(file for file in os.listdir(self._folder) if file.startswith(name + ".")):
            os.rename(os.path.join(self._folder, file), _free_name(os.path.join(self._quarantine, file)))
        durable.sync_folder(self._quarantine)
        durable.sync_folder(self._folder)

    def _path(self, name: str, suffix: str) -> str:
        return os.path.join(self._folder, name + suffix)


def _identity(packs: Packs, place: Place) -> ObjectId:
    pieces = packs.pieces_at(place)
    if pieces is None:
        kind, content = packs.read_at(place)
        return object_id(ObjectType(kind), content)
    digest = hashlib.sha1(hash_prefix(ObjectType(pieces[0]), pieces[1]), usedforsecurity=False)
    for piece in pieces[2]:
        digest.update(piece)
    return digest.digest()


def _copy(packs: Packs, place: Place, writer: PackWriter) -> None:
    pieces = packs.pieces_at(place)
    if pieces is not None and pieces[0] == ObjectType.BLOB and pieces[1] >= STREAM_FROM:
        writer.add_blob_stream(pieces[1], lambda: _pieces(packs, place))
    else:
        kind, content = packs.read_at(place)
        writer.add(ObjectType(kind), content)


def _pieces(packs: Packs, place: Place) -> Iterator[bytes]:
    found = packs.pieces_at(place)
    return iter(()) if found is None else found[2]


def _free_name(path: str) -> str:
    """Never over what is there already: it is kept for whoever wants to look at it."""
    number, free = 1, path
    while os.path.lexists(free):
        number, free = number + 1, f"{path}.{number + 1}"
    return free
