"""The SQLite file of one workspace: opened, checked, thrown away when it can't be trusted."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator

from backtraild.layout import VERSION
from backtraild.model import Path
from backtraild.state.connection import Connection, TableLost, is_damage, table_failed, table_lost
from backtraild.state.strangers import SUFFIXES, discard_strangers

_WAL_BYTES = 1024 * 1024

_SCHEMA = """
CREATE TABLE files (
    id INTEGER PRIMARY KEY, folder BLOB NOT NULL, first BLOB NOT NULL,
    count INTEGER NOT NULL, size INTEGER NOT NULL, bundle BLOB NOT NULL
);
CREATE UNIQUE INDEX files_by_place ON files (folder, first);
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
CREATE TABLE sessions (
    key TEXT PRIMARY KEY, id TEXT NOT NULL, tree BLOB NOT NULL, status TEXT NOT NULL, agent TEXT NOT NULL,
    parent TEXT, updated_us INTEGER NOT NULL, record BLOB NOT NULL,
    indexed_generation INTEGER NOT NULL DEFAULT 0, indexed_count INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX sessions_by_use ON sessions (updated_us, key);
CREATE TABLE turns (
    session TEXT NOT NULL, ordinal INTEGER NOT NULL, number INTEGER NOT NULL, rewound INTEGER NOT NULL,
    checkpoint_before INTEGER, checkpoint_after INTEGER, record BLOB NOT NULL, PRIMARY KEY (session, ordinal)
);
CREATE INDEX turns_by_number ON turns (session, number, ordinal);
CREATE INDEX turns_by_checkpoint ON turns (checkpoint_after) WHERE checkpoint_after IS NOT NULL;
CREATE TABLE snapshots (
    session TEXT NOT NULL, number INTEGER NOT NULL, generation INTEGER NOT NULL, message_count INTEGER NOT NULL,
    turn INTEGER, checkpoint INTEGER, created_us INTEGER NOT NULL, record BLOB NOT NULL,
    PRIMARY KEY (session, number)
);
CREATE INDEX snapshots_by_place ON snapshots (session, generation, message_count);
CREATE INDEX snapshots_by_checkpoint ON snapshots (session, checkpoint, number);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, found TEXT NOT NULL, digest BLOB NOT NULL,
    occurrence INTEGER NOT NULL, generation INTEGER NOT NULL, position INTEGER NOT NULL,
    role TEXT NOT NULL, time_us INTEGER NOT NULL
);
CREATE UNIQUE INDEX passages_by_content ON passages (session, found, digest, occurrence);
CREATE TABLE transcript_sources (
    session TEXT PRIMARY KEY, content_hash TEXT NOT NULL,
    file TEXT NOT NULL, position INTEGER NOT NULL, head BLOB NOT NULL, tail BLOB NOT NULL
) WITHOUT ROWID;
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
# Apart from the others: what was made without these is as right, and only slower. Most rows are in neither index.
_QUICKER = (
    "CREATE TABLE IF NOT EXISTS listings (folder BLOB PRIMARY KEY, listing BLOB NOT NULL) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS checkpoints_incomplete ON checkpoints (number) WHERE NOT complete",
    "CREATE INDEX IF NOT EXISTS checkpoints_by_session ON checkpoints (session, number) WHERE session IS NOT NULL",
)
# So is this one: it is only there where this SQLite was built with FTS5. Its rows are those of `passages`.
_TEXTS = "CREATE VIRTUAL TABLE IF NOT EXISTS passage_text USING fts5(text, tokenize = 'unicode61 remove_diacritics 2')"


class Database:
    """One connection, used by one thread; transactions are explicit."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.transactions = 0  # how many there were, with the one under way
        self.beginnings = 0  # how often it was found damaged and begun anew since it was opened
        self._facts: dict[str, str | None] = {}  # what is known of them: a save asks for some a dozen times
        try:
            self.connection = Connection(self._open(), self._path, self._begin_anew)
        except sqlite3.DatabaseError as error:
            if _is_refused(error):
                raise table_failed(self._path, error) from error
            # Damaged, or of another version: nothing in it is irreplaceable.
            with _failing(self._path):
                self._discard()
                self.connection = Connection(self._open(), self._path, self._begin_anew)

    def close(self) -> None:
        """Let go of the file."""
        self.connection.close()

    @contextlib.contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[None]:
        """All or nothing: what is changed inside is kept only if the block ends without an exception.

        Where it is `durable`, a power cut after the block does not take it back.
        """
        with _failing(self._path):
            try:
                if durable:
                    self.connection.execute("PRAGMA synchronous = FULL")
                self.connection.execute("BEGIN")
                self.transactions += 1
                yield
                self.connection.execute("COMMIT")
                if durable:
                    self.connection.execute("PRAGMA synchronous = NORMAL")
            except BaseException as error:
                if is_damage(error):
                    self._begin_anew()
                    raise table_lost(error) from error
                self._facts.clear()
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                raise

    def fact(self, name: str) -> str | None:
        """A single remembered value; None also where damage took all of them."""
        if name not in self._facts:
            try:
                row = self.connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
            except TableLost:
                return None
            self._facts[name] = None if row is None else str(row[0])
        return self._facts[name]

    def remember(self, name: str, value: str) -> None:
        """Keep a single value."""
        self.connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))
        self._facts[name] = value

    def forget(self, *names: str) -> None:
        """Let go of values."""
        for name in names:
            self.connection.execute("DELETE FROM facts WHERE name = ?", (name,))
            self._facts[name] = None

    def _open(self) -> sqlite3.Connection:
        discard_strangers(self._path)
        connection = sqlite3.connect(self._path, isolation_level=None, cached_statements=64)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # No fsync a transaction: a power cut may lose the last ones, never mix them. The remembered tree
            # then is not the newest checkpoint's, and the differing files are read again.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA temp_store = MEMORY")
            # Left alone, the WAL stays as large as the largest transaction ever was: a second table for ever.
            connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version == 0:
                connection.executescript(f"BEGIN; {_SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
            elif version != VERSION:
                raise sqlite3.DatabaseError(f"version {version}, not {VERSION}")
            with contextlib.suppress(sqlite3.OperationalError):  # as on a full disk
                for statement in _QUICKER:
                    connection.execute(statement)
            self.searchable = _prepare_search(connection)
            _require_writable(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _begin_anew(self) -> None:
        """Damage in the middle of the file shows only when it is read: what follows finds an empty table."""
        self.connection.close()
        self._facts.clear()
        with _failing(self._path):
            self._discard()
            self.connection = Connection(self._open(), self._path, self._begin_anew)
        self.beginnings += 1

    def _discard(self) -> None:
        for suffix in SUFFIXES:
            try:
                os.unlink(self._path + suffix)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise table_failed(self._path, error) from error


def _require_writable(connection: sqlite3.Connection) -> None:
    """Where the file can't be opened for writing, SQLite only reads it, and would for as long as it is open."""
    connection.execute("BEGIN")
    connection.execute(
        f"PRAGMA user_version = {VERSION}"
    )  # as it is: nothing is written, but that it may be is checked
    connection.execute("ROLLBACK")


def _prepare_search(connection: sqlite3.Connection) -> bool:
    """Make the full-text index, if this SQLite can."""
    try:
        connection.execute(_TEXTS)
        connection.execute("SELECT rowid FROM passage_text LIMIT 0")  # one that another SQLite made
    except sqlite3.OperationalError as error:
        if "no such module" not in str(error):
            raise
        return False
    return True


@contextlib.contextmanager
def _failing(path: str) -> Iterator[None]:
    """Turn the errors of SQLite into one that says what failed."""
    try:
        yield
    except sqlite3.Error as error:
        raise table_failed(path, error) from error


def _is_refused(error: sqlite3.DatabaseError) -> bool:
    """Is the file sound for all that is known, and only not to be had now? To throw it away would be a waste."""
    refusals = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM)
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF in refusals


def borders(folder: Path) -> tuple[bytes, bytes]:
    """Where the paths below a folder begin and end in the order of bytes: from `/` to the byte after it."""
    return folder + b"/", folder + b"0"
