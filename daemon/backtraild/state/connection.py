"""The one place through which a workspace's table is read and written, and its errors are met.

Inside a transaction they are left as they are, for the transaction to deal with. Outside of one, damage means that the
table is begun anew and TableLost is raised; everything else is a StoreFailed.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from backtrail.errors import StoreFailed

Arguments = Sequence[Any] | Mapping[str, Any]


class TableLost(StoreFailed):
    """The table was damaged and is empty now; what was asked for can be asked for again."""


class Connection:
    """A connection to SQLite whose rows may turn out to be damaged when they are fetched."""

    def __init__(self, connection: sqlite3.Connection, path: str, begin_anew: Callable[[], None]) -> None:
        self._connection = connection
        self.failing = _Failing(connection, path, begin_anew)

    @property
    def in_transaction(self) -> bool:
        """Is a transaction under way?"""
        return self._connection.in_transaction

    def execute(self, statement: str, arguments: Arguments = ()) -> "Rows":
        """Run one statement."""
        with self.failing:
            return Rows(self._connection.execute(statement, arguments), self)

    def executemany(self, statement: str, rows: Iterable[Arguments]) -> None:
        """Run one statement for each row."""
        with self.failing:
            self._connection.executemany(statement, rows)

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()


class _Failing:
    """Turns the errors of a statement outside of a transaction into ours.

    One for all statements, and no generator: a look at the disk passes through it several times a folder.
    """

    def __init__(self, connection: sqlite3.Connection, path: str, begin_anew: Callable[[], None]) -> None:
        self._connection = connection
        self._path = path
        self._begin_anew = begin_anew

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if not isinstance(error, sqlite3.Error) or self._connection.in_transaction:
            return
        if is_damage(error):
            self._begin_anew()
            raise table_lost(error) from error
        raise table_failed(self._path, error) from error


class Rows:
    """What a statement gave."""

    def __init__(self, cursor: sqlite3.Cursor, connection: Connection) -> None:
        self._cursor = cursor
        self._connection = connection

    def __iter__(self) -> Iterator[Any]:
        with self._connection.failing:
            yield from self._cursor

    @property
    def lastrowid(self) -> int | None:
        """The number of the row that was inserted last."""
        return self._cursor.lastrowid

    def fetchone(self) -> Any:
        """The next row; None if there is none."""
        with self._connection.failing:
            return self._cursor.fetchone()

    def fetchall(self) -> list[Any]:
        """All that are left."""
        with self._connection.failing:
            return self._cursor.fetchall()


def is_damage(error: BaseException) -> bool:
    """Does SQLite say that the file is not what it was?"""
    if not isinstance(error, sqlite3.Error):
        return False
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF  # the rest says more exactly what
    is_gone = str(error).startswith(("no such table", "no such column"))  # a flipped bit in the schema
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or is_gone


def table_lost(error: BaseException) -> TableLost:
    """What to say of a table that was begun anew."""
    return TableLost(
        f"The table beside the store was damaged: {error}.",
        "It has been begun anew; nothing in it is irreplaceable. Try again.",
    )


def table_failed(path: str, error: BaseException) -> StoreFailed:
    """What to say where the table could not be used; its path tells which disk is full, or read-only."""
    return StoreFailed(
        f"The table beside the store, {path}, could not be used: {error}.",
        "Look at free space and permissions, then try again.",
    )
