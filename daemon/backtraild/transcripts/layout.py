"""One generation as it lies in git: which chunk holds which lines, found without opening the others."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator
from itertools import chain, pairwise
from typing import NamedTuple

import msgspec

from backtrail.errors import StoreDamaged
from backtraild.model import FILE_MODE, TREE_MODE, Entry, ObjectId
from backtraild.store import PackWriter, Store, StoreReader
from backtraild.transcripts.chunks import NO_LINES_HASH, SMALLEST, chained, joined
from backtraild.transcripts.model import Generation

FORMAT = 1
FAN_OUT = 256
# A last chunk shorter than this is written again with what follows it, so that short messages don't become as many
# chunks.
OPEN_UP_TO = 16 * 1024

_ABOUT = b"about"
_NUMBER = rb"[0-9]{9,15}"
_HIGHEST = 2**53  # nothing was ever counted so far


class Place(NamedTuple):
    """A chunk, or a folder of chunks, and the number of its first line."""

    first: int
    oid: ObjectId


class _About(msgspec.Struct):
    format: int
    messages: int
    bytes: int
    hash: str
    redacted: dict[str, int]
    malformed: int


class Layout:
    """The folders and chunks of a generation, read-only. All of it may raise StoreDamaged."""

    def __init__(self, store: Store | StoreReader, number: int, tree: ObjectId) -> None:
        self._objects = store.objects
        entries = self._objects.read_tree(tree)
        about = entries.pop(_ABOUT, None)
        if about is None:
            raise StoreDamaged(f"Generation {number} of a conversation does not say what it holds.")
        self.facts = _generation(number, self._objects.read_blob(about.oid))
        self.folders = _places(entries)
        self._opened: tuple[Place, list[Place]] | None = None

    def chunks(self, line: int = 0) -> Iterator[Place]:
        """The chunk that holds a line, and all that follow. Folders are opened as they are needed."""
        for folder in self.folders[_holding(self.folders, line) :]:
            places = self._inside(folder)
            # A folder that occurs again under other names would have no end of chunks.
            if not places or places[0].first != folder.first:
                raise StoreDamaged("A conversation in the store has chunks in the wrong folder.")
            yield from places[_holding(places, line) :]

    def pieces(self, line: int = 0) -> Iterator[tuple[int, list[bytes]]]:
        """The lines of each chunk from the one that holds a line, with the number of the first."""
        end = Place(self.facts.message_count, b"")
        for place, following in pairwise(chain(self.chunks(line), [end])):
            yield place.first, self._lines(place, following.first)

    def lines(self, start: int, stop: int) -> Iterator[bytes]:
        """Messages by their numbers. Chunks are read when their first line is asked for."""
        at = start
        for first, lines in self.pieces(start) if start < stop else ():
            if first > at:
                break
            yield from lines[at - first : stop - first]
            at = first + len(lines)
            if at >= stop:
                return
        if at < stop:  # to tell fewer would have somebody ask for the others again and again
            raise StoreDamaged(f"Message {at} of a conversation is not in the store.")

    def before(self, line: int) -> tuple[list[Place], list[Place]]:
        """What lies before a chunk's first line: all folders but the last, and the chunks of that one."""
        last = bisect_left(self.folders, line, key=_first) - 1
        if last < 0:
            return [], []
        inside = self._inside(self.folders[last])
        return self.folders[:last], inside[: bisect_left(inside, line, key=_first)]

    def tail(self) -> tuple[int, list[bytes]]:
        """The lines of a last chunk that is still short, with the number of the first; else the end and none."""
        count = self.facts.message_count
        try:
            place = next(self.chunks(count), None)
            if place is not None and self._objects.size(place.oid) < OPEN_UP_TO:
                return place.first, self._lines(place, count)
        except StoreDamaged:
            pass  # what is damaged stays where it is, and does not keep others from being added
        return count, []

    def is_fragmented(self) -> bool:
        """Has it many more chunks than it would have, had it been written at once?"""
        return sum(1 for _ in self.chunks()) > 2 + self.facts.bytes // SMALLEST

    def _inside(self, folder: Place) -> list[Place]:
        if self._opened is None or self._opened[0] != folder:  # an append asks for the same one twice
            self._opened = folder, _places(self._objects.read_tree(folder.oid))
        return self._opened[1]

    def _lines(self, place: Place, end: int) -> list[bytes]:
        lines = self._objects.read_blob(place.oid).split(b"\n")
        if lines.pop() or len(lines) != end - place.first:
            raise StoreDamaged(
                f"A chunk of a conversation holds {len(lines)} messages instead of {end - place.first}."
            )
        return lines


class Assembly:
    """A generation in the making: chunks that are there already, then new ones."""

    def __init__(
        self, store: Store | StoreReader, pack: PackWriter, folders: list[Place], chunks: list[Place]
    ) -> None:
        self._store = store
        self._pack = pack
        self._folders = list(folders)
        self._chunks = list(chunks)

    def add(self, first: int, lines: list[bytes]) -> None:
        """Put the next chunk into the pack."""
        if len(self._chunks) == FAN_OUT:
            self._close_folder()
        self._chunks.append(Place(first, self._pack.add_blob(joined(lines))))

    def finish(self, facts: Generation) -> ObjectId:
        """The tree of the generation."""
        if self._chunks:
            self._close_folder()
        entries = {_name(place): Entry(TREE_MODE, place.oid) for place in self._folders}
        entries[_ABOUT] = Entry(FILE_MODE, self._pack.add_blob(_about(facts)))
        return self._store.named.add_tree(self._pack, entries)

    def _close_folder(self) -> None:
        entries = {_name(place): Entry(FILE_MODE, place.oid) for place in self._chunks}
        tree = self._store.named.add_tree(self._pack, entries)
        self._folders.append(Place(self._chunks[0].first, tree))
        self._chunks = []


def checked(lines: Iterator[bytes], expected: str, what: str) -> Iterator[bytes]:
    """The same lines; StoreDamaged in place of the end unless they have this hash from the first one on."""
    found = NO_LINES_HASH
    for line in lines:
        found = chained(found, line)
        yield line
    if found.hex() != expected:
        raise StoreDamaged(f"{what} is not what was stored: its hash is {found.hex()}, not {expected}.")


def _first(place: Place) -> int:
    return place.first


def _holding(places: list[Place], line: int) -> int:
    """Which of them holds a line: the last that begins at it or before; 0 where the first begins after it."""
    return max(0, bisect_right(places, line, key=_first) - 1)


def _name(place: Place) -> bytes:
    return b"%09d" % place.first


def _places(entries: dict[bytes, Entry]) -> list[Place]:
    if not all(re.fullmatch(_NUMBER, name) for name in entries):
        raise StoreDamaged("A conversation in the store holds something that Backtrail did not put there.")
    return sorted(Place(int(name), entry.oid) for name, entry in entries.items())


def _about(facts: Generation) -> bytes:
    return msgspec.json.encode(
        _About(
            format=FORMAT,
            messages=facts.message_count,
            bytes=facts.bytes,
            hash=facts.content_hash,
            redacted=dict(sorted(facts.redacted.items())),
            malformed=facts.malformed,
        )
    )


def _generation(number: int, content: bytes) -> Generation:
    try:
        about = msgspec.json.decode(content, type=_About)
    except ValueError as error:
        raise StoreDamaged(
            f"What generation {number} of a conversation holds can't be read: {error}."
        ) from error
    if about.format > FORMAT:
        raise StoreDamaged(
            f"A conversation was written by a newer Backtrail (format {about.format}).", "Upgrade Backtrail."
        )
    if not all(0 <= count <= _HIGHEST for count in (about.messages, about.bytes, about.malformed)):
        raise StoreDamaged(f"Generation {number} of a conversation claims what no conversation has.")
    return Generation(
        number, about.messages, about.bytes, about.hash, Counter(about.redacted), about.malformed
    )
