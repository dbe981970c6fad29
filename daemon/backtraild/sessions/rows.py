"""Sessions, turns and snapshots as rows, so that lists and lookups open nothing in git. All of it comes from there."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import msgspec

from backtraild.model import ObjectId
from backtraild.sessions.model import Session, SessionStatus, Snapshot, Turn
from backtraild.state import Connection, Database

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_sessions = msgspec.json.Decoder(Session)
_turns = msgspec.json.Decoder(Turn)
_snapshots = msgspec.json.Decoder(Snapshot)


class Rows:
    """The tables beside the ledger. Whoever calls is inside a transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _connection(self) -> Connection:
        return self._database.connection  # another one once damage was found

    def trees(self) -> dict[str, ObjectId]:
        """Which tree each session's rows were made from."""
        return dict(self._connection.execute("SELECT key, tree FROM sessions"))

    def tree(self, key: str) -> ObjectId | None:
        """Which tree a session's rows were made from; None if it has none."""
        row = self._connection.execute("SELECT tree FROM sessions WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def put(
        self, key: str, tree: ObjectId, session: Session, turns: Iterable[Turn], snapshots: Iterable[Snapshot]
    ) -> None:
        """Add or replace records of a session."""
        self._connection.execute(
            "INSERT INTO sessions (key, id, tree, status, agent, parent, updated_us, record)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET tree = excluded.tree,"
            " status = excluded.status, agent = excluded.agent, parent = excluded.parent,"
            " updated_us = excluded.updated_us, record = excluded.record",
            (
                key,
                session.id,
                tree,
                session.status.value,
                session.agent,
                session.parent,
                microseconds(session.updated),
                msgspec.json.encode(session),
            ),
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?, ?)",
            [_turn_row(key, turn) for turn in turns],
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [_snapshot_row(key, snapshot) for snapshot in snapshots],
        )

    def forget(self, key: str) -> None:
        """Remove all rows of a session."""
        self._connection.execute("DELETE FROM turns WHERE session = ?", (key,))
        self._connection.execute("DELETE FROM snapshots WHERE session = ?", (key,))
        self._connection.execute("DELETE FROM sessions WHERE key = ?", (key,))

    def session(self, key: str) -> Session | None:
        """One session."""
        row = self._connection.execute("SELECT record FROM sessions WHERE key = ?", (key,)).fetchone()
        return None if row is None else _sessions.decode(row[0])

    def select(
        self,
        status: SessionStatus | None,
        agent: str | None,
        parent: str | None,
        limit: int,
        before: tuple[int, str] | None,
    ) -> list[Session]:
        """Sessions, the last used first, after a place in that order."""
        time, key = before or (None, "")
        rows = self._connection.execute(
            "SELECT record FROM sessions WHERE (?1 IS NULL OR status = ?1) AND (?2 IS NULL OR agent = ?2)"
            " AND (?3 IS NULL OR parent = ?3) AND (?4 IS NULL OR (updated_us, key) < (?4, ?5))"
            " ORDER BY updated_us DESC, key DESC LIMIT ?6",
            (None if status is None else status.value, agent, parent, time, key, limit),
        )
        return [_sessions.decode(record) for (record,) in rows]

    def turn(self, key: str, number: int) -> Turn | None:
        """The last turn of a number that is not rewound."""
        row = self._connection.execute(
            "SELECT record FROM turns WHERE session = ? AND number = ? AND NOT rewound"
            " ORDER BY ordinal DESC LIMIT 1",
            (key, number),
        ).fetchone()
        return None if row is None else _turns.decode(row[0])

    def turns(self, key: str, *, include_rewound: bool = True) -> list[Turn]:
        """All turns, in the order in which they were begun."""
        rows = self._connection.execute(
            "SELECT record FROM turns WHERE session = ? AND (? OR NOT rewound) ORDER BY ordinal",
            (key, include_rewound),
        )
        return [_turns.decode(record) for (record,) in rows]

    def snapshot(self, key: str, number: int) -> Snapshot | None:
        """One snapshot."""
        row = self._connection.execute(
            "SELECT record FROM snapshots WHERE session = ? AND number = ?", (key, number)
        ).fetchone()
        return None if row is None else _snapshots.decode(row[0])

    def snapshots(self, key: str) -> list[Snapshot]:
        """All snapshots, oldest first."""
        rows = self._connection.execute(
            "SELECT record FROM snapshots WHERE session = ? ORDER BY number", (key,)
        )
        return [_snapshots.decode(record) for (record,) in rows]

    def last_turn(self, key: str) -> Turn | None:
        """The turn that was begun last and is not rewound."""
        row = self._connection.execute(
            "SELECT record FROM turns WHERE session = ? AND NOT rewound ORDER BY ordinal DESC LIMIT 1", (key,)
        ).fetchone()
        return None if row is None else _turns.decode(row[0])

    def reaching_beyond(self, checkpoint: int) -> list[tuple[str, Turn]]:
        """Turns that began with a checkpoint and were not over with this one, with their sessions' ids."""
        rows = self._connection.execute(
            "SELECT sessions.id, turns.record FROM turns JOIN sessions ON sessions.key = turns.session"
            " WHERE checkpoint_before IS NOT NULL AND (checkpoint_after > ? OR checkpoint_after IS NULL)"
            " ORDER BY turns.session, turns.ordinal",
            (checkpoint,),
        )
        return [(session, _turns.decode(record)) for session, record in rows]

    def around(self, checkpoint: int) -> list[tuple[str, Turn]]:
        """Turns between whose two checkpoints this one was made, or that it ended."""
        rows = self._connection.execute(
            "SELECT sessions.id, turns.record FROM turns JOIN sessions ON sessions.key = turns.session"
            " WHERE checkpoint_after >= ?1 AND (checkpoint_after = ?1 OR checkpoint_before < ?1)",
            (checkpoint,),
        )
        found = [(session, _turns.decode(record)) for session, record in rows]
        return sorted(found, key=lambda one: (one[0], one[1].ordinal))

    def ended_by(self, key: str, checkpoint: int) -> Turn | None:
        """The turn that ended with a checkpoint, rewound or not."""
        row = self._connection.execute(
            "SELECT record FROM turns WHERE checkpoint_after = ? AND +session = ? LIMIT 1", (checkpoint, key)
        ).fetchone()
        return None if row is None else _turns.decode(row[0])

    def said_by(self, key: str, checkpoint: int) -> Snapshot | None:
        """The last snapshot that is bound to a checkpoint."""
        row = self._connection.execute(
            "SELECT record FROM snapshots WHERE session = ? AND checkpoint = ? ORDER BY number DESC LIMIT 1",
            (key, checkpoint),
        ).fetchone()
        return None if row is None else _snapshots.decode(row[0])

    def checkpoints(self, key: str) -> frozenset[int]:
        """Every checkpoint that a session's records name."""
        rows = self._connection.execute(
            "SELECT checkpoint_before FROM turns WHERE session = ?1 UNION SELECT checkpoint_after FROM turns"
            " WHERE session = ?1 UNION SELECT checkpoint FROM snapshots WHERE session = ?1",
            (key,),
        )
        return frozenset(number for (number,) in rows if number is not None)


def _turn_row(key: str, turn: Turn) -> tuple[object, ...]:
    record = msgspec.json.encode(turn)
    return key, turn.ordinal, turn.number, turn.rewound, turn.before, turn.after, record


def _snapshot_row(key: str, snapshot: Snapshot) -> tuple[object, ...]:
    return (
        key,
        snapshot.number,
        snapshot.generation,
        snapshot.message_count,
        snapshot.turn,
        snapshot.checkpoint,
        microseconds(snapshot.created),
        msgspec.json.encode(snapshot),
    )


def microseconds(moment: datetime) -> int:
    """A time as the tables keep it."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def moment_of(microseconds: int) -> datetime:
    """A time that the tables kept."""
    return EPOCH + timedelta(microseconds=microseconds)
