"""Finding words in messages, prompts and the paths of changed files, newest first."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from backtrail.errors import UsageError
from backtrail.pathtext import to_text
from backtraild.model import Path
from backtraild.sessions.model import Found, Hit, HitPage, session_key
from backtraild.sessions.query import Wanted, wanted
from backtraild.sessions.rows import moment_of
from backtraild.state import Connection, Database

SNIPPET_TOKENS = 24
SNIPPET_LENGTH = 400
_BEGIN, _END = "\x02", "\x03"  # `texts.plain` leaves neither in a text
_LATEST = 2**62
_CURSOR = r"(-?[0-9]{1,18}):([0-9]{1,9})"

_PASSAGES = """
SELECT p.time_us, p.id FROM passage_text JOIN passages p ON p.id = passage_text.rowid
WHERE passage_text MATCH :query AND p.time_us <= :as_of AND (:key IS NULL OR p.session = :key)
ORDER BY p.time_us DESC, p.id DESC LIMIT :limit
"""
_PASSAGE = """
SELECT p.found, p.session, s.id, p.generation, p.position, p.role, p.time_us,
       snippet(passage_text, 0, ?, ?, '…', ?)
FROM passage_text JOIN passages p ON p.id = passage_text.rowid JOIN sessions s ON s.key = p.session
WHERE passage_text MATCH ? AND passage_text.rowid = ?
"""
# A path is listed once, with the newest checkpoint that changed it: of columns beside MAX, SQLite gives that row's.
_PATHS = """
SELECT c.time_us, p.path, MAX(p.number), c.session FROM changed_paths p JOIN checkpoints c ON c.number = p.number
WHERE {conditions} AND c.time_us <= :as_of AND (:session IS NULL OR c.session = :session)
GROUP BY p.path ORDER BY c.time_us DESC, p.path LIMIT :limit
"""

_Candidate = tuple[int, Callable[[], Hit]]  # when it was, and how to tell all about it


class Search:
    """Asks the full-text index. Whoever calls is inside a transaction, and has brought the index up to date."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _connection(self) -> Connection:
        return self._database.connection  # another one once damage was found

    def check(self) -> None:
        """Refuse where this machine's SQLite can't search."""
        if not self._database.searchable:
            raise UsageError(
                "Search is not available: the SQLite library of this Python was built without FTS5.",
                "Use a Python whose sqlite3 module has FTS5. Everything else works without it.",
            )

    def find(self, words: str, session: str | None, limit: int, cursor: str | None) -> HitPage:
        """Where all the words are. What is newer than the first page's first hit is on no later page."""
        asked = wanted(words)
        as_of, skipped = _place(cursor)
        key = None if session is None else session_key(session)
        last = skipped + limit
        arguments = {"session": session, "key": key, "as_of": as_of, "limit": last + 1}
        found = self._passages(asked, arguments) + self._paths(asked, arguments)
        found.sort(key=lambda candidate: candidate[0], reverse=True)
        page = tuple(tell() for _, tell in found[skipped:last])
        return HitPage(page, f"{min(as_of, found[0][0])}:{last}" if len(found) > last else None)

    def _passages(self, asked: Wanted, arguments: dict[str, Any]) -> list[_Candidate]:
        rows = self._connection.execute(_PASSAGES, {**arguments, "query": asked.full_text}).fetchall()
        # Only what is shown is cut out and told in full: that is the expensive part.
        return [(time, partial(self._passage, asked, row)) for time, row in rows]

    def _paths(self, asked: Wanted, arguments: dict[str, Any]) -> list[_Candidate]:
        """Paths that contain all the words, wherever: people remember a part of a name."""
        terms = [(word, "> 0") for word in asked.present] + [(word, "= 0") for word in asked.absent]
        tests = [
            f"instr(lower(CAST(p.path AS TEXT)), lower(:word{at})) {test}"
            for at, (_, test) in enumerate(terms)
        ]
        words = {f"word{at}": word for at, (word, _) in enumerate(terms)}
        query = _PATHS.format(conditions=" AND ".join(tests))
        rows = self._connection.execute(query, {**arguments, **words}).fetchall()
        return [(row[0], partial(self._path, *row)) for row in rows]

    def _passage(self, asked: Wanted, row: int) -> Hit:
        found, key, session, generation, position, role, time, text = self._connection.execute(
            _PASSAGE, (_BEGIN, _END, SNIPPET_TOKENS, asked.full_text, row)
        ).fetchone()
        snippet, marks = marked(text)
        if found == Found.PROMPT:
            turn, rewound, checkpoint = self._around_prompt(key, position)
            place: dict[str, Any] = {"turn": turn, "rewound": bool(rewound), "checkpoint": checkpoint}
        else:
            turn, checkpoint = self._around_message(key, generation, position)
            place = {"turn": turn, "checkpoint": checkpoint, "message": position, "generation": generation}
        return Hit(Found(found), moment_of(time), snippet, marks, session=session, role=role or None, **place)

    def _around_prompt(self, key: str, ordinal: int) -> tuple[int | None, int, int | None]:
        row: tuple[int | None, int, int | None] | None = self._connection.execute(
            "SELECT number, rewound, COALESCE(checkpoint_after, checkpoint_before) FROM turns"
            " WHERE session = ? AND ordinal = ?",
            (key, ordinal),
        ).fetchone()
        return row or (None, 0, None)

    def _around_message(self, key: str, generation: int, position: int) -> tuple[int | None, int | None]:
        """The first snapshot that holds a message tells the turn it came in."""
        row: tuple[int | None, int | None] | None = self._connection.execute(
            "SELECT turn, checkpoint FROM snapshots WHERE session = ? AND generation = ? AND message_count > ?"
            " ORDER BY message_count, number LIMIT 1",
            (key, generation, position),
        ).fetchone()
        return row or (None, None)

    def _path(self, time: int, path: Path, number: int, session: str | None) -> Hit:
        row = self._connection.execute(
            "SELECT number FROM turns WHERE checkpoint_after = ? ORDER BY rewound, ordinal DESC LIMIT 1",
            (number,),
        ).fetchone()
        turn = None if row is None else row[0]
        name = to_text(path)
        return Hit(
            Found.PATH, moment_of(time), name, session=session, turn=turn, checkpoint=number, path=path
        )


def marked(text: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A snippet without its marks, cut around the first of them, and where the marks were."""
    first, *others = text.split(_BEGIN)
    snippet = first[-SNIPPET_LENGTH // 2 :]
    marks = []
    for other in others:
        word, _, rest = other.partition(_END)
        marks.append((len(snippet), len(snippet) + len(word)))
        snippet += word + rest
    left = [(start, min(end, SNIPPET_LENGTH)) for start, end in marks if start < SNIPPET_LENGTH]
    return snippet[:SNIPPET_LENGTH], tuple(left)


def _place(cursor: str | None) -> tuple[int, int]:
    """As of when, and how many hits were given already."""
    if cursor is None:
        return _LATEST, 0
    parts = re.fullmatch(_CURSOR, cursor)
    if parts is None:
        raise UsageError(f"{cursor[:50]!a} is not where a search ended.", "Give `next` of the page before.")
    return int(parts[1]), int(parts[2])
