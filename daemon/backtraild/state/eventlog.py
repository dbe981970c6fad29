"""The log of events: numbered without holes, kept over restarts, read by those who missed some.

An event follows a checkpoint that is already durable, so a power cut that takes the last events takes
nothing that can't be told again: at start, checkpoints without their event get it, under numbers that were
never given out. That is why the event of a checkpoint need not be in the file when the checkpoint is answered for:
it is written when the answer is given, or by whoever reads the log or adds to it before that.
"""

import contextlib
import os
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from backtrail.errors import StoreFailed
from backtrail.pathtext import sendable
from backtraild.model import Event
from backtraild.state import trimming
from backtraild.state.announcing import Announcing
from backtraild.state.eventquery import INDEXES, EventQuery, numbers_of, select
from backtraild.state.reservation import Reservation
from backtraild.state.strangers import discard_strangers

_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY, epoch TEXT NOT NULL, type TEXT NOT NULL, workspace TEXT NOT NULL,
    root TEXT NOT NULL, timestamp TEXT NOT NULL, checkpoint INTEGER, session TEXT, data TEXT NOT NULL, phase TEXT
);
"""
_COLUMNS = "epoch, seq, type, workspace, root, timestamp, checkpoint, session, data"
_INSERT = f"INSERT INTO events ({_COLUMNS}, phase) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
TRIM_SECONDS = 3600.0
_SIDE_FILES = ("", "-wal", "-shm")


class EventLog:
    """Appended to by all workers, one at a time."""

    def __init__(self, path: str, publish: Callable[[Event], None]) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._announcing = Announcing(publish)
        self.hold_back = self._announcing.hold_back
        self._unwritten: deque[Event] = deque()  # numbered, and not in the file yet
        self._epoch = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.") + os.urandom(4).hex()
        self.set_aside: str | None = None  # where a log went that could not be read
        with _failing("opened"):
            self._reservation = Reservation(path + ".reserved")
            try:
                self._connection = self._open()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                self._put_aside()
                self._connection = self._open()
            (newest,) = self._connection.execute("SELECT MAX(seq) FROM events").fetchone()
            self._trimmed = trimming.trimmed(self._connection)
        self._trim_at, self._trim_up_to = 0.0, 0
        self._newest = self._go_on_after(newest)

    @property
    def epoch(self) -> str:
        """Which run of the daemon this is."""
        return self._epoch

    @property
    def newest(self) -> int:
        """The number of the last event."""
        return self._newest

    @property
    def first(self) -> int:
        """The number from which on the log has all events; those before it were let go."""
        return self._trimmed + 1

    def append(
        self,
        kind: str,
        workspace: str,
        root: str,
        checkpoint: int | None = None,
        session: str | None = None,
        data: Mapping[str, Any] | None = None,
        *,
        is_known_otherwise: bool = False,
    ) -> Event:
        """Write an event down and publish it: subscribers see the order of seq.

        One that is known otherwise, and so would be told again after a crash, waits while this thread holds back.
        """
        with self._lock:
            event = Event(
                epoch=self._epoch,
                seq=self._newest + 1,
                type=kind,
                workspace=workspace,
                root=root,
                timestamp=datetime.now(UTC),
                checkpoint=checkpoint,
                session=session,
                data=_sendable(data or {}),
            )
            self._unwritten.append(event)
            self._newest = event.seq
            if not (is_known_otherwise and self._announcing.is_held_back):
                self._write_down_or_take_back(event)
        return event

    def write_down(self) -> None:
        """Have everything in the file that was added, unless this thread holds back."""
        if self._unwritten and not self._announcing.is_held_back:
            with self._lock:
                self._write_down()

    def let_go(self) -> None:
        """Write down and publish what this thread has held back; what can't be written now is tried again later."""
        self._announcing.let_go()
        with contextlib.suppress(StoreFailed):
            self.write_down()

    def since(self, seq: int, limit: int = 1000, workspace: str | None = None) -> list[Event]:
        """Events after a number, oldest first."""
        with self._reading():
            rows = self._connection.execute(
                f"SELECT {_COLUMNS} FROM events WHERE seq > ?1 AND (?2 IS NULL OR workspace = ?2)"  # noqa: S608
                " ORDER BY seq LIMIT ?3",
                (max(seq, self._trimmed), workspace, limit),
            ).fetchall()
        return [_event(row) for row in rows]

    def find(self, query: EventQuery) -> list[Event]:
        """Events of a workspace that answer a query, oldest first."""
        with self._reading():
            numbers = self._connection.execute(*numbers_of(query)).fetchone()
            rows = self._connection.execute(*select(_COLUMNS, query, numbers)).fetchall()
        return [_event(row) for row in rows]

    def last_checkpoint(self, workspace: str) -> int:
        """The newest checkpoint of a workspace that has its event; 0 if none has."""
        with self._reading():
            row = self._connection.execute(
                "SELECT COALESCE(MAX(checkpoint), 0) FROM events"
                " WHERE workspace = ? AND type IN ('checkpoint_created', 'checkpoint_restored')",
                (workspace,),
            ).fetchone()
        return int(row[0])

    def trim(self) -> bool:
        """Let go of some events that are too old, or too many, at most once an hour; True if there are more of them."""
        with self._lock, _failing("trimmed"):
            now = time.monotonic()
            if self._trim_up_to <= self._trimmed:
                if now < self._trim_at:
                    return False
                self._trim_at = now + TRIM_SECONDS
                self._trim_up_to = trimming.border(self._connection, datetime.now(UTC))
            is_trimmed = trimming.trim(self._connection, self._trim_up_to)
            self._trimmed = trimming.trimmed(self._connection) if is_trimmed else self._trimmed
            self._trim_up_to = self._trim_up_to if is_trimmed else 0
            return self._trim_up_to > self._trimmed

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            with contextlib.suppress(StoreFailed):
                self._write_down()
            self._connection.close()
            # What SQLite could not write into the file itself is not durable yet, as on a full disk.
            if not os.path.exists(self._path + "-wal"):
                with contextlib.suppress(OSError):  # then some numbers are left out
                    self._reservation.settle(self._newest)

    def _go_on_after(self, newest: int | None) -> int:
        """The number after which the next one is. Some are left out where events may have been told and lost."""
        if newest is None or self._reservation.may_have_lost_events:
            return max(newest or 0, self._reservation.highest)
        return newest

    def _open(self) -> sqlite3.Connection:
        discard_strangers(self._path)
        connection = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.executescript(_SCHEMA + trimming.SCHEMA)
            _add_phase(connection)
            connection.executescript(INDEXES)
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise _Damaged(verdict)
        except BaseException:
            connection.close()
            raise
        return connection

    def _put_aside(self) -> None:
        """Kept for whoever wants to look at it; what the stores know is told again."""
        name = f"{self._path}.damaged-{self._epoch}"
        for suffix in _SIDE_FILES:
            with contextlib.suppress(FileNotFoundError):
                os.rename(self._path + suffix, name + suffix)
        self.set_aside = name

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """Whoever reads finds everything that was added, unless the disk takes nothing."""
        with self._lock, _failing("read"):
            with contextlib.suppress(StoreFailed):
                self._write_down()
            yield

    def _write_down_or_take_back(self, event: Event) -> None:
        """Where it fails, the last event was never added: its caller is told, and nobody has seen its number."""
        try:
            self._write_down()
        except BaseException:
            self._unwritten.pop()
            self._newest = event.seq - 1
            raise

    def _write_down(self) -> None:
        while self._unwritten:
            self._insert(self._unwritten[0])
            self._announcing.add(self._unwritten.popleft())

    def _insert(self, event: Event) -> None:
        with _failing("written"):
            self._reservation.cover(event.seq)
            try:
                self._connection.execute(_INSERT, _row(event))
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_READONLY:
                    raise
                self._open_again()
                self._connection.execute(_INSERT, _row(event))

    def _open_again(self) -> None:
        """SQLite only reads a file that it could not open for writing, as when no descriptor was left, from then on."""
        connection = self._open()
        self._connection.close()
        self._connection = connection


def _row(event: Event) -> tuple[Any, ...]:
    return (
        event.epoch,
        event.seq,
        event.type,
        event.workspace,
        event.root,
        event.timestamp.isoformat(),
        event.checkpoint,
        event.session,
        msgspec.json.encode(event.data).decode(),
        _phase(event),
    )


def _sendable(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A reason may name a file that is not UTF-8, which JSON can't hold: it must be told all the same."""
    return {name: sendable(value) if isinstance(value, str) else value for name, value in data.items()}


def _phase(event: Event) -> str | None:
    """The phase that its session was in, in a column of its own so that it can be searched for."""
    phase = event.data.get("phase")
    return phase if isinstance(phase, str) else None


def _add_phase(connection: sqlite3.Connection) -> None:
    """A log that was begun before sessions were known has no such column."""
    columns = {row[1] for row in connection.execute("PRAGMA table_info(events)")}
    if "phase" not in columns:
        connection.execute("ALTER TABLE events ADD COLUMN phase TEXT")


class _Damaged(sqlite3.DatabaseError):
    """SQLite opened the file and found it inconsistent."""

    sqlite_errorcode = sqlite3.SQLITE_CORRUPT


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or "malformed" in str(error)


@contextlib.contextmanager
def _failing(verb: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise StoreFailed(
            f"The log of events can't be {verb}: {error}.", "Look at free space and permissions."
        ) from error


def _event(row: tuple[Any, ...]) -> Event:
    epoch, seq, kind, workspace, root, timestamp, checkpoint, session, data = row
    moment = datetime.fromisoformat(timestamp)
    return Event(epoch, seq, kind, workspace, root, moment, checkpoint, session, msgspec.json.decode(data))
