"""Conversations of one store: recorded, read, copied, let go."""

from collections import Counter
from collections.abc import Iterator

from backtraild.model import ObjectId
from backtraild.state import Database
from backtraild.store import Store, StoreReader, failing
from backtraild.transcripts import agreement
from backtraild.transcripts.agreement import Agreement
from backtraild.transcripts.book import TRANSCRIPTS, Book, ref
from backtraild.transcripts.intake import Intake
from backtraild.transcripts.layout import Layout
from backtraild.transcripts.model import Generation, Recorded, Redactor, Source, TranscriptFile
from backtraild.transcripts.positions import Positions
from backtraild.transcripts.reading import Position, opened


class Transcripts:
    """The conversations of one store, each under a key that is fit for a ref. Used by one thread."""

    def __init__(self, store: Store, redactor: Redactor, database: Database) -> None:
        self._store = store
        self._redactor = redactor
        self._positions = Positions(database)

    def keys(self) -> list[str]:
        """All conversations there are."""
        with failing("read"):
            return self._store.named.names(TRANSCRIPTS)

    def trees(self) -> dict[str, ObjectId]:
        """What each conversation consists of now: another tree for whatever is recorded."""
        with failing("read"):
            found = {key: self._store.named.tree(ref(key)) for key in self.keys()}
        return {key: tree for key, tree in found.items() if tree is not None}

    def record(self, key: str, source: Source) -> Recorded:
        """Store a conversation as it is now; only what is new in it is written. Durable when this returns."""
        book = Book(self._store, key)
        newest = book.newest()
        with opened(source, self._position(key, source, newest)) as reading:
            start = newest.facts if newest is not None and reading.resumed else None
            intake = Intake(reading.lines, self._redactor.line, start)
            found = _agreement(newest, intake, reading.resumed)
            generation = book.write(newest, found, intake)
            if reading.position is not None:
                self._positions.keep(key, generation.content_hash, reading.position)
            return _recorded(generation, found, reading.incomplete)

    def newest(self, key: str) -> Generation | None:
        """The generation that holds the conversation as it was recorded last."""
        layout = Book(self._store, key).newest()
        return None if layout is None else layout.facts

    def generations(self, key: str) -> list[Generation]:
        """All generations, the oldest first."""
        book = Book(self._store, key)
        return [book.layout(number).facts for number in book.numbers]

    def read(
        self,
        key: str,
        generation: int,
        start: int = 0,
        stop: int | None = None,
        content_hash: str | None = None,
    ) -> Iterator[bytes]:
        """Messages from `start` up to `stop`, as lines. StoreDamaged is raised in place of what can't be read.

        From the first message on, the content hash is checked at the end: the one that is given, for a snapshot,
        else that of the whole generation.
        """
        return Book(self._store, key).read(generation, start, stop, content_hash)

    def copy(
        self,
        git_dir: str,
        key: str,
        generation: int,
        count: int,
        new_key: str,
        content_hash: str | None = None,
    ) -> Recorded:
        """Record the first messages of a generation of another store, which may be written meanwhile, as they are.

        What was redacted is known of whole generations: the copy of a part of one counts nothing.
        """
        original = Book(StoreReader(git_dir), key)
        lines, facts = original.read(generation, 0, count, content_hash), original.layout(generation).facts
        redacted = facts.redacted if count == facts.message_count else Counter[str]()
        book = Book(self._store, new_key)
        newest, intake = book.newest(), Intake(lines, _as_it_is, redacted=redacted)
        found = _agreement(newest, intake, resumed=False)
        return _recorded(book.write(newest, found, intake), found, incomplete=False)

    def delete(self, key: str) -> None:
        """Let go of a conversation with all its generations; harmless if there is none."""
        with failing("changed"):
            self._store.named.remove(ref(key))
        self._positions.forget(key)

    def compact(self, key: str) -> list[int]:
        """Turn the many chunks of small appends into few; for which generations that was worth doing."""
        return Book(self._store, key).compact()

    def _position(self, key: str, source: Source, newest: Layout | None) -> Position | None:
        if newest is None or not isinstance(source, TranscriptFile):
            return None
        return self._positions.find(key, newest.facts.content_hash)


def _agreement(newest: Layout | None, lines: Intake, resumed: bool) -> Agreement:
    if newest is None:
        return agreement.nothing(lines)
    return agreement.extended(newest, lines) if resumed else agreement.compared(newest, lines)


def _recorded(generation: Generation, found: Agreement, incomplete: bool) -> Recorded:
    return Recorded(
        generation=generation.number,
        message_count=generation.message_count,
        bytes=generation.bytes,
        content_hash=generation.content_hash,
        redacted=generation.redacted,
        malformed=generation.malformed,
        appended=generation.message_count - found.count,
        incomplete=incomplete,
    )


def _as_it_is(line: bytes) -> tuple[bytes, Counter[str]]:
    return line, Counter()
