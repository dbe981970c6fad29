"""Reading objects, every byte checked against its id.

Nearly all lie in packs, which `packs` reads; loose ones, which only foreign tools put here, are read by
`loose`. libgit2 reads neither: on some damaged files it crashes or hangs, and it wants all of an object in
memory.
"""

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping

from backtrail.errors import StoreDamaged, StoreFailed
from backtraild.model import Entry, ObjectId
from backtraild.store import loose
from backtraild.store.indexes import Place
from backtraild.store.kept import Kept
from backtraild.store.objects import (
    EMPTY_TREE,
    LARGEST,
    TOO_LARGE,
    Differing,
    ObjectType,
    decode_differing,
    decode_tree,
    hash_prefix,
    object_id,
)
from backtraild.store.packs import DAMAGE, Located, Packs
from backtraild.store.text import count_text_lines
from backtraild.store.troubles import passes, unusable

COUNTED_UP_TO = 4 * 1024 * 1024
STREAM_FROM = 8 * 1024 * 1024
# A tree of every save goes in: this is full, and memory does not grow any more, after some thousand saves.
TREE_CACHE_BYTES = 4 * 1024 * 1024
REMEMBERED_BYTES = 64 * 1024 * 1024
RECENT_BYTES = 1024 * 1024

_CHANGED = "its content has changed"
_OTHER_TYPE = "it has another type than expected"
# What may come of one copy of an object, where another one may be intact.
_TROUBLE = (*DAMAGE, StoreDamaged, StoreFailed)


class Objects:
    """The objects of one repository, read-only. Used by one thread."""

    def __init__(self, git_dir: str) -> None:
        self._folder = os.path.join(git_dir, "objects")
        self._packs = Packs(os.path.join(self._folder, "pack"))
        self._packs.refresh()
        self._trees: Kept[ObjectId, bytes] = Kept(TREE_CACHE_BYTES)
        self.recent: Kept[ObjectId, bytes] = Kept(RECENT_BYTES)  # contents, for who compares them
        # What was measured last: whoever asks how large something is reads it next.
        self._sized: tuple[ObjectId, Place, Located] | None = None
        self._remembered: Kept[ObjectId, bytes] | None = None

    @contextlib.contextmanager
    def remembering(self) -> Iterator[None]:
        """In this block contents that were read are kept, as far as they fit: they are needed more than once."""
        self._remembered = Kept(REMEMBERED_BYTES)
        try:
            yield
        finally:
            self._remembered = None

    def has(self, oid: ObjectId) -> bool:
        """Is this object in a pack?"""
        return self._packs.has(oid)

    def added(self, stem: str, offsets: Mapping[ObjectId, int] | None = None) -> None:
        """Take note of a finished pack, without listing the folder for it; nor reading its index, if that is known."""
        self._packs.added(os.path.basename(stem), offsets)

    @property
    def packs(self) -> int:
        """How many packs are known."""
        return len(self._packs)

    def close(self) -> None:
        """Let go of the packs."""
        self._packs.close()

    def refresh(self) -> None:
        """Take note of packs that came and went, and forget what was read."""
        self._packs.refresh()
        self._trees.clear()
        self.recent.clear()
        self._sized = None

    def commits(self) -> Iterator[tuple[ObjectId, bytes]]:
        """All commits that can be read, whether anything leads to them or not. Looks at every object."""
        for oid, place in self._packs.all():
            with contextlib.suppress(*_TROUBLE):
                if self._packs.kind_at(place) == ObjectType.COMMIT:
                    yield oid, self._read_at(oid, ObjectType.COMMIT, place)

    def is_sound(self, oid: ObjectId) -> bool:
        """Is there a copy of this object, whatever its type, that is exactly what was stored?

        Raises StoreFailed where that can't be told now: to store everything again would be a waste.
        """
        return any(self._is_sound_at(oid, place) for place in self._packs.places(oid))

    def read(self, oid: ObjectId, kind: ObjectType = ObjectType.BLOB) -> bytes:
        """An object's whole content. Raises StoreDamaged unless it is exactly what was stored.

        Raises StoreFailed where it can only not be read now.
        """
        # Another copy may be intact, or maintenance has moved the object.
        with contextlib.suppress(*_TROUBLE):
            if self._sized is not None and self._sized[0] == oid:
                return self._read_at(oid, kind, *self._sized[1:])
            place = self._packs.place(oid)
            if place is not None:
                return self._read_at(oid, kind, place)
        return self._read_anywhere(oid, kind)

    def read_blob(self, oid: ObjectId) -> bytes:
        """A file's whole content."""
        if self._remembered is None:
            return self.read(oid, ObjectType.BLOB)
        content = self._remembered.get(oid)
        if content is None:
            content = self.read(oid, ObjectType.BLOB)
            # What came first stays: who reads the same list twice begins with it again.
            if len(content) <= self._remembered.left:
                self._remembered.keep(oid, content, len(content))
        return content

    def read_up_to(self, most: int, oid: ObjectId) -> bytes | None:
        """A file's whole content, looked for once; None where it is longer than that."""
        if self._remembered is None:
            with contextlib.suppress(*_TROUBLE):  # as when it is read
                place = self._packs.place(oid)
                if place is not None:
                    entry = self._packs.entry_at(place)
                    is_small = self._packs.size_at(place, entry) <= most
                    return self._read_at(oid, ObjectType.BLOB, place, entry) if is_small else None
        return self.read_blob(oid) if self.size(oid) <= most else None

    def read_tree(self, oid: ObjectId) -> dict[bytes, Entry]:
        """A folder's entries; the most recently used folders are kept in memory."""
        return decode_tree(self.tree_content(oid))

    def read_differing_entries(self, old: ObjectId, new: ObjectId) -> Differing:
        """Of each of two folders, the entries that the other one does not have."""
        return decode_differing(self.tree_content(old), self.tree_content(new))

    def expect(self, oid: ObjectId) -> None:
        """An object is about to be read; what is wrong with it shows then."""
        with contextlib.suppress(*_TROUBLE):
            place = self._packs.place(oid)
            if place is not None:
                self._packs.expect(place)

    def take_at_hand(self) -> None:
        """Have in memory what is asked for all the time; where that can't be read, whoever needs it will say so."""
        with contextlib.suppress(OSError):
            self._packs.take_at_hand()

    def kept_tree(self, oid: ObjectId) -> bytes | None:
        """A folder as it is stored, if it is in memory."""
        return self._trees.get(oid)

    def keep_tree(self, oid: ObjectId, content: bytes) -> None:
        """Remember a tree, so that the next save reads nothing."""
        self._trees.keep(oid, content, len(content))

    def size(self, oid: ObjectId) -> int:
        """Length of a blob, from its header."""
        kept = None if self._remembered is None else self._remembered.get(oid)
        if kept is not None:
            return len(kept)
        with contextlib.suppress(*DAMAGE):
            if self._sized is not None and self._sized[0] == oid:
                return self._packs.size_at(*self._sized[1:])
            place = self._packs.place(oid)
            if place is not None:
                entry = self._packs.entry_at(place)
                self._sized = oid, place, entry
                return self._packs.size_at(place, entry)
        troubles: list[BaseException] = []
        for place in self._places_now(oid):
            try:
                return self._packs.size_at(place)
            except DAMAGE as error:
                troubles.append(error)
        size = loose.size(self._folder, oid)
        if size is None:
            raise unusable(oid, [*troubles, *self._packs.unread])
        return size

    def lines(self, oid: ObjectId) -> int | None:
        """How many lines a blob has; None where it is not text, or too large to be counted."""
        content = self.read_up_to(COUNTED_UP_TO, oid)
        return None if content is None else count_text_lines(content)

    def chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """A blob's content piece by piece; damage is raised in place of the end."""
        place = self._streamable(oid) if self.size(oid) >= STREAM_FROM else None
        if place is None:
            yield self.read_blob(oid)
        else:
            yield from self._stream(oid, ObjectType.BLOB, place)

    def tree_content(self, oid: ObjectId) -> bytes:
        """A folder as it is stored; the most recently used ones are kept in memory."""
        content = self._trees.get(oid)
        if content is None:
            content = b"" if oid == EMPTY_TREE else self.read(oid, ObjectType.TREE)
            self.keep_tree(oid, content)
        return content

    def _streamable(self, oid: ObjectId) -> Place | None:
        """The copy to take a large blob from: what was given out can't be taken back, so it is chosen before."""
        places = self._places_now(oid)
        if len(places) > 1:
            places = [place for place in places if self._is_sound_at(oid, place)] or places
        try:
            return places[0] if places and self._packs.pieces_at(places[0]) else None
        except DAMAGE as error:
            raise unusable(oid, [error]) from error

    def _stream(self, oid: ObjectId, kind: ObjectType, place: Place) -> Iterator[bytes]:
        try:
            found = self._packs.pieces_at(place)
            if found is None or found[0] != kind:
                raise ValueError(_OTHER_TYPE)
            digest = hashlib.sha1(hash_prefix(kind, found[1]), usedforsecurity=False)
            for piece in found[2]:
                digest.update(piece)
                yield piece
        except DAMAGE as error:
            raise unusable(oid, [error]) from error
        if digest.digest() != oid:
            raise unusable(oid, (), _CHANGED)

    def _read_at(self, oid: ObjectId, kind: ObjectType, place: Place, entry: Located | None = None) -> bytes:
        found, content = self._content_at(oid, kind, place, entry or self._packs.entry_at(place))
        if found != kind:
            raise ValueError(_OTHER_TYPE)
        if object_id(kind, content) != oid:
            raise ValueError(_CHANGED)
        return content

    def _content_at(self, oid: ObjectId, kind: ObjectType, place: Place, entry: Located) -> tuple[int, bytes]:
        """What a pack holds at a place. A large object is hashed before memory is given to it: it may be a bomb."""
        if kind in LARGEST and self._packs.size_at(place, entry) > LARGEST[kind]:
            raise ValueError(TOO_LARGE)
        if entry.base is None and entry.size >= STREAM_FROM:
            self._hashes_right(oid, ObjectType(entry.kind), place)
        return self._packs.read_at(place, entry)

    def _hashes_right(self, oid: ObjectId, kind: ObjectType, place: Place) -> bool:
        """Read an object to its end and keep nothing of it; StoreDamaged if it is not what was stored."""
        for _ in self._stream(oid, kind, place):
            pass
        return True

    def _is_sound_at(self, oid: ObjectId, place: Place) -> bool:
        try:
            pieces = self._packs.pieces_at(place)
            if pieces is not None:
                return self._hashes_right(oid, ObjectType(pieces[0]), place)
            kind, content = self._packs.read_at(place)
            return object_id(ObjectType(kind), content) == oid
        except _TROUBLE as error:
            if passes(error):
                raise unusable(oid, [error]) from error
            return False

    def _read_anywhere(self, oid: ObjectId, kind: ObjectType) -> bytes:
        """From whichever copy is intact: in any of the packs that there are now, or loose."""
        troubles: list[BaseException] = []
        for place in self._places_now(oid):
            try:
                return self._read_at(oid, kind, place)
            except _TROUBLE as error:
                troubles.append(error)
        content = loose.read(self._folder, oid, kind)
        if content is None:
            raise unusable(oid, [*troubles, *self._packs.unread])
        if object_id(kind, content) != oid:
            raise unusable(oid, (), _CHANGED)
        return content

    def _places_now(self, oid: ObjectId) -> list[Place]:
        try:
            self._packs.refresh()
            self._sized = None
            return self._packs.places(oid)
        except DAMAGE as error:
            raise unusable(oid, [error]) from error
