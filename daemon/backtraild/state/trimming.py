"""Which events are let go, as SQL: the oldest, once there are very many or they are very old.

Numbers up to a border go, so that what is left has no holes. They are counted as numbers, not as rows. Of each
workspace, its newest event stays, and that of its newest checkpoint, which says what has been told already.
"""

import sqlite3
from datetime import UTC, datetime, timedelta

from backtraild.retention import believed

KEPT_EVENTS = 200_000
KEPT_FOR = timedelta(days=90)
BATCH = 250

SCHEMA = "CREATE TABLE IF NOT EXISTS trimmed (one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL);"

_TOLD = ("checkpoint_created", "checkpoint_restored")
_SAMPLES = 500


def trimmed(connection: sqlite3.Connection) -> int:
    """The highest number that was let go; 0 if none was."""
    row = connection.execute("SELECT seq FROM trimmed").fetchone()
    return 0 if row is None else int(row[0])


def border(connection: sqlite3.Connection, now: datetime) -> int:
    """The last number that is not to be kept any more."""
    first = trimmed(connection) + 1
    (newest,) = connection.execute("SELECT COALESCE(MAX(seq), 0) FROM events").fetchone()
    oldest_kept = (believed(_times(connection, first, newest), now) - KEPT_FOR).astimezone(UTC).isoformat()
    rows = connection.execute(
        "SELECT seq FROM events WHERE seq >= ? AND timestamp >= ? ORDER BY seq LIMIT 1", (first, oldest_kept)
    )
    (first_young,) = rows.fetchone() or (newest,)
    return max(int(first_young) - 1, int(newest) - KEPT_EVENTS)


def trim(connection: sqlite3.Connection, last: int) -> bool:
    """Let go of the oldest events up to a number, a batch of them; False if none was left to go."""
    after = trimmed(connection)
    batch = "SELECT seq FROM events WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?"
    (end,) = connection.execute(f"SELECT MAX(seq) FROM ({batch})", (after, last, BATCH)).fetchone()  # noqa: S608
    if end is None:
        return False
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute("INSERT OR REPLACE INTO trimmed VALUES (1, ?)", (end,))
        kept = ", ".join(map(str, _needed(connection, end)))
        connection.execute(f"DELETE FROM events WHERE seq <= ? AND seq NOT IN ({kept})", (end,))  # noqa: S608
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    return True


def _needed(connection: sqlite3.Connection, end: int) -> set[int]:
    """The numbers up to this one that stay. Only looked up in indexes: whoever has something to tell waits for this."""
    found: list[tuple[int]] = []
    ask = connection.execute
    for (workspace,) in ask("SELECT DISTINCT workspace FROM events WHERE seq <= ?", (end,)).fetchall():
        found += ask("SELECT MAX(seq) FROM events WHERE workspace = ?", (workspace,))
        told = [
            row
            for kind in _TOLD
            for row in ask(
                "SELECT checkpoint, seq FROM events WHERE workspace = ? AND type = ?"
                " ORDER BY checkpoint DESC LIMIT 1",
                (workspace, kind),
            )
        ]
        found += [(seq,) for _, seq in sorted(told)[-1:]]
    return {seq for (seq,) in found}


def _times(connection: sqlite3.Connection, first: int, newest: int) -> list[datetime]:
    """When something happened, in the order of the events: some of all, and all of the last ones."""
    spread = range(first, newest, max(1, (newest - first) // _SAMPLES))
    numbers = sorted({*spread, *range(max(first, newest - _SAMPLES), newest + 1)})
    found = (connection.execute("SELECT timestamp FROM events WHERE seq = ?", (seq,)) for seq in numbers)
    return [datetime.fromisoformat(timestamp) for rows in found for (timestamp,) in rows]
