"""The full-text index: which texts can be found, and where they stand. Made from git, like all tables.

A message is known by its content and by how often that came before it: when an agent compacts or rewinds its
conversation, the messages it kept get their new places, and those it dropped are still found in their old ones.
"""

import hashlib
from bisect import bisect_right
from collections.abc import Iterable
from itertools import groupby

from msgspec import Struct

from backtraild.sessions.model import Found, Turn
from backtraild.sessions.rows import microseconds
from backtraild.sessions.texts import Passage, passage, plain
from backtraild.state import Connection, Database

_Place = tuple[str, Found, bytes, int]  # session, what it is, its content, and how often that came before


class Missing(Struct, frozen=True):
    """Messages of a session that were recorded and can't be found yet.

    `counts` and `times_us` tell how many messages there were when, in ascending order.
    """

    session: str
    generation: int
    start: int
    stop: int
    counts: tuple[int, ...]
    times_us: tuple[int, ...]

    def time_of(self, position: int) -> int:
        """When a message was first recorded."""
        return self.times_us[bisect_right(self.counts, position)]


class Passages:
    """Texts by session. Whoever calls is inside a transaction; without FTS5 nothing is kept."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _connection(self) -> Connection:
        return self._database.connection  # another one once damage was found

    def put_prompts(self, key: str, turns: Iterable[Turn]) -> None:
        """Let prompts be found."""
        for turn in turns if self._database.searchable else ():
            place = (key, Found.PROMPT, b"", turn.ordinal)
            if turn.prompt and self._find(place) is None:
                told = Passage(plain(turn.prompt), turn.role, None)
                self._insert(place, (0, turn.ordinal), told, microseconds(turn.started))

    def put_messages(self, part: Missing, start: int, lines: Iterable[bytes]) -> None:
        """Let messages be found, those from `start` on; all before them in their generation already can."""
        position = start
        for line in lines:
            self._put_message(part, position, line)
            position += 1
        self._connection.execute(
            "UPDATE sessions SET indexed_generation = ?, indexed_count = ? WHERE key = ?",
            (part.generation, position, part.session),
        )

    def missing(self, key: str | None = None) -> list[Missing]:
        """What was recorded and can't be found yet, of one session or of all, generation by generation."""
        if not self._database.searchable:
            return []
        rows = self._connection.execute(
            "SELECT s.key, n.generation, n.message_count, n.created_us, s.indexed_generation, s.indexed_count"
            " FROM sessions s JOIN snapshots n ON n.session = s.key AND (n.generation > s.indexed_generation"
            " OR (n.generation = s.indexed_generation AND n.message_count > s.indexed_count))"
            " WHERE ?1 IS NULL OR s.key = ?1 ORDER BY s.key, n.generation, n.message_count, n.number",
            (key,),
        )
        parts = groupby(rows, key=lambda row: (row[0], row[1]))
        found = [_missing(*place, [row[2:] for row in part]) for place, part in parts]
        return [part for part in found if part.start < part.stop]

    def forget(self, key: str) -> None:
        """Let nothing of a session be found."""
        if self._database.searchable:
            self._connection.execute(
                "DELETE FROM passage_text WHERE rowid IN (SELECT id FROM passages WHERE session = ?)", (key,)
            )
        self._connection.execute("DELETE FROM passages WHERE session = ?", (key,))

    def _put_message(self, part: Missing, position: int, line: bytes) -> None:
        digest = hashlib.blake2b(line, digest_size=12).digest()
        (before,) = self._connection.execute(
            "SELECT COUNT(*) FROM passages WHERE session = ? AND found = ? AND digest = ? AND generation = ?",
            (part.session, Found.MESSAGE, digest, part.generation),
        ).fetchone()
        place = (part.session, Found.MESSAGE, digest, before)
        known = self._find(place)
        if known is None:
            self._insert(place, (part.generation, position), passage(line), part.time_of(position))
        else:
            self._connection.execute(
                "UPDATE passages SET generation = ?, position = ? WHERE id = ?",
                (part.generation, position, known),
            )

    def _find(self, place: _Place) -> int | None:
        row = self._connection.execute(
            "SELECT id FROM passages WHERE session = ? AND found = ? AND digest = ? AND occurrence = ?", place
        ).fetchone()
        return None if row is None else int(row[0])

    def _insert(self, place: _Place, position: tuple[int, int], told: Passage, recorded_us: int) -> None:
        # What a message says of its own time is believed as long as it had happened when it was recorded.
        time = recorded_us if told.time is None else min(microseconds(told.time), recorded_us)
        row = self._connection.execute(
            "INSERT INTO passages (session, found, digest, occurrence, generation, position, role, time_us)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*place, *position, told.role, time),
        )
        self._connection.execute(
            "INSERT INTO passage_text (rowid, text) VALUES (?, ?)", (row.lastrowid, told.text)
        )


def _missing(session: str, generation: int, steps: list[tuple[int, int, int, int]]) -> Missing:
    indexed_generation, indexed_count = steps[0][2:]
    return Missing(
        session,
        generation,
        start=indexed_count if generation == indexed_generation else 0,
        stop=steps[-1][0],
        counts=tuple(count for count, *_ in steps),
        times_us=tuple(time for _, time, *_ in steps),
    )
