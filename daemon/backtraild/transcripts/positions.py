"""How far transcript files were read, kept beside the store: a shortcut that may be lost at any time."""

import logging
import sqlite3

from backtrail.errors import StoreFailed
from backtraild.state import Database
from backtraild.transcripts.reading import Position

_Row = tuple[str, int, bytes, bytes]

_log = logging.getLogger(__name__)


class Positions:
    """The table `transcript_sources`. Whatever is wrong with it, the whole file is read instead."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, key: str, content_hash: str) -> Position | None:
        """Where a file was left, if that was when the conversation had this content."""
        row = self._execute(
            "SELECT file, position, head, tail FROM transcript_sources WHERE session = ? AND content_hash = ?",
            (key, content_hash),
        )
        return None if row is None else Position(*row)

    def keep(self, key: str, content_hash: str, position: Position) -> None:
        """Remember where a file was left; only the last file of a conversation is."""
        self._execute(
            "INSERT OR REPLACE INTO transcript_sources VALUES (?, ?, ?, ?, ?, ?)",
            (key, content_hash, position.file, position.offset, position.head, position.tail),
        )

    def forget(self, key: str) -> None:
        """Remember nothing of a conversation."""
        self._execute("DELETE FROM transcript_sources WHERE session = ?", (key,))

    def _execute(self, statement: str, values: tuple[object, ...]) -> _Row | None:
        # One statement by itself: it may be inside somebody's transaction, or in none.
        try:
            row: _Row | None = self._database.connection.execute(statement, values).fetchone()
        except (sqlite3.Error, StoreFailed) as error:
            _log.warning("the positions in transcript files can't be used: %s", error)
            return None
        return row
