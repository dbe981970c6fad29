"""The log of events: numbered without holes, kept over restarts, read by those who missed some.

An event follows a checkpoint that is already durable, so a power cut that takes the last events takes
nothing that can't be told again: at start, checkpoints without their event get it.
"""

import os
import sqlite3
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from backtrail.errors import StoreFailed
from backtraild.model import Event

_SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY, epoch TEXT NOT NULL, type TEXT NOT NULL, workspace TEXT NOT NULL,
    root TEXT NOT NULL, timestamp TEXT NOT NULL, checkpoint INTEGER, session TEXT, data TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_by_workspace ON events (workspace, seq);
CREATE INDEX IF NOT EXISTS events_by_checkpoint ON events (workspace, type, checkpoint);
"""
_COLUMNS = "epoch, seq, type, workspace, root, timestamp, checkpoint, session, data"


class EventLog:
    """Appended to by all workers, one at a time."""

    def __init__(self, path: str, publish: Callable[[Event], None]) -> None:
        self._lock = threading.Lock()
        self._publish = publish
        self._epoch = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.") + os.urandom(4).hex()
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(_SCHEMA)
        self._newest = int(self._connection.execute("SELECT COALESCE(MAX(seq), 0) FROM events").fetchone()[0])

    @property
    def epoch(self) -> str:
        """Which run of the daemon this is."""
        return self._epoch

    @property
    def newest(self) -> int:
        """The number of the last event."""
        return self._newest

    def append(
        self,
        kind: str,
        workspace: str,
        root: str,
        checkpoint: int | None = None,
        session: str | None = None,
        data: Mapping[str, Any] | None = None,
    ) -> Event:
        """Write an event down and publish it, both under one lock: subscribers see the order of seq."""
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
                data=data or {},
            )
            self._insert(event)
            self._newest = event.seq
            self._publish(event)
        return event

    def since(self, seq: int, limit: int = 1000, workspace: str | None = None) -> list[Event]:
        """Events after a number, oldest first."""
        with self._lock:
            rows = self._connection.execute(
                f"SELECT {_COLUMNS} FROM events WHERE seq > ?1 AND (?2 IS NULL OR workspace = ?2)"  # noqa: S608
                " ORDER BY seq LIMIT ?3",
                (seq, workspace, limit),
            ).fetchall()
        return [_event(row) for row in rows]

    def last_checkpoint(self, workspace: str) -> int:
        """The newest checkpoint of a workspace that has its event; 0 if none has."""
        with self._lock:
            row = self._connection.execute(
                "SELECT COALESCE(MAX(checkpoint), 0) FROM events"
                " WHERE workspace = ? AND type IN ('checkpoint_created', 'checkpoint_restored')",
                (workspace,),
            ).fetchone()
        return int(row[0])

    def close(self) -> None:
        """Let go of the file."""
        with self._lock:
            self._connection.close()

    def _insert(self, event: Event) -> None:
        try:
            self._connection.execute(
                f"INSERT INTO events ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608
                (
                    event.epoch,
                    event.seq,
                    event.type,
                    event.workspace,
                    event.root,
                    event.timestamp.isoformat(),
                    event.checkpoint,
                    event.session,
                    msgspec.json.encode(event.data).decode(),
                ),
            )
        except sqlite3.Error as error:
            raise StoreFailed(f"The log of events can't be written: {error}.") from error


def _event(row: tuple[Any, ...]) -> Event:
    epoch, seq, kind, workspace, root, timestamp, checkpoint, session, data = row
    moment = datetime.fromisoformat(timestamp)
    return Event(epoch, seq, kind, workspace, root, moment, checkpoint, session, msgspec.json.decode(data))
