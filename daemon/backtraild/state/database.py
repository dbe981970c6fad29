"""The SQLite file of one workspace: opened, checked, thrown away when it can't be trusted."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator

from backtrail.errors import StoreFailed
from backtraild.model import Path

VERSION = 2

_SCHEMA = """
CREATE TABLE files (
    folder BLOB NOT NULL, name BLOB NOT NULL,
    mode INTEGER NOT NULL, oid BLOB NOT NULL,
    size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
    PRIMARY KEY (folder, name)
) WITHOUT ROWID;
CREATE TABLE skips (path BLOB PRIMARY KEY, size INTEGER NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE checkpoints (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL, time_us INTEGER NOT NULL,
    kind TEXT NOT NULL, session TEXT, complete INTEGER NOT NULL, request TEXT
);
CREATE INDEX checkpoints_by_id ON checkpoints (id);
CREATE INDEX checkpoints_by_time ON checkpoints (time_us, number);
CREATE INDEX checkpoints_by_request ON checkpoints (request) WHERE request IS NOT NULL;
CREATE TABLE changed_paths (
    path BLOB NOT NULL, number INTEGER NOT NULL, PRIMARY KEY (path, number)
) WITHOUT ROWID;
CREATE INDEX changed_paths_by_number ON changed_paths (number);
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""


class TableLost(StoreFailed):
    """The table was damaged and is empty now; what was asked for can be asked for again."""


class Database:
    """One connection, used by one thread; transactions are explicit."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self.connection = self._open()
        except sqlite3.DatabaseError:
            # Damaged, or of another version: nothing in it is irreplaceable.
            with _failing():
                self._discard()
                self.connection = self._open()

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing: what is changed inside is kept only if the block ends without an exception."""
        with _failing():
            try:
                self.connection.execute("BEGIN")
                yield
                self.connection.execute("COMMIT")
            except BaseException as error:
                if _is_damage(error):
                    self._begin_anew()
                    raise TableLost(
                        f"The table beside the store was damaged: {error}.",
                        "It has been begun anew; nothing in it is irreplaceable. Try again.",
                    ) from error
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def fact(self, name: str) -> str | None:
        """A single remembered value."""
        try:
            row = self.connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        except sqlite3.DatabaseError as error:
            if self.connection.in_transaction or not _is_damage(error):
                raise
            self._begin_anew()
            row = None
        return None if row is None else str(row[0])

    def remember(self, name: str, value: str) -> None:
        """Keep a single value."""
        self.connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, isolation_level=None, cached_statements=64)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # No fsync a transaction: a power cut may lose the last ones, never mix them. The remembered tree
            # then is not the newest checkpoint's, and the differing files are read again.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA temp_store = MEMORY")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
            elif version != VERSION:
                raise sqlite3.DatabaseError(f"version {version}, not {VERSION}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _begin_anew(self) -> None:
        """Damage in the middle of the file shows only when it is read: what follows finds an empty table."""
        self.connection.close()
        self._discard()
        self.connection = self._open()

    def _discard(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self._path + suffix)


@contextlib.contextmanager
def _failing() -> Iterator[None]:
    """Turn the errors of SQLite into one that says what failed."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreFailed(
            f"The table beside the store could not be used: {error}.",
            "Look at free space and permissions, then try again.",
        ) from error


def _is_damage(error: BaseException) -> bool:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF  # the rest says more exactly what
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


def borders(folder: Path) -> tuple[bytes, bytes]:
    """Where the paths below a folder begin and end in the order of bytes: from `/` to the byte after it."""
    return folder + b"/", folder + b"0"
