"""Which events of a workspace are wanted, as SQL that reads about as many rows as it gives. Touches no file.

Each type of event is a search of its own in an index that has them in order, and SQLite merges these lazily: a
page costs a page, however rare its types are and however long the log is.
"""

from datetime import UTC, datetime

from msgspec import Struct

INDEXES = """
CREATE INDEX IF NOT EXISTS events_by_workspace ON events (workspace, seq);
CREATE INDEX IF NOT EXISTS events_by_checkpoint ON events (workspace, type, checkpoint);
CREATE INDEX IF NOT EXISTS events_by_type ON events (workspace, type, seq);
CREATE INDEX IF NOT EXISTS events_by_session ON events (workspace, session, type, seq) WHERE session IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_by_phase ON events (workspace, phase, type, seq) WHERE phase IS NOT NULL;
CREATE INDEX IF NOT EXISTS events_by_time ON events (workspace, timestamp);
"""

HIGHEST = 2**62  # no event has this number

_TIMES = {"since": "timestamp >= :since", "until": "timestamp <= :until"}


class EventQuery(Struct, frozen=True):
    """Which events are wanted; an unset field asks for nothing. Oldest first, after a number."""

    workspace: str
    types: tuple[str, ...]
    after: int = 0
    limit: int = 100
    session: str | None = None
    phase: str | None = None
    checkpoint: int | None = None
    since: datetime | None = None
    until: datetime | None = None


def select(columns: str, query: EventQuery, numbers: tuple[int, int]) -> tuple[str, dict[str, object]]:
    """The statement and its arguments; `numbers` are where the query's time begins and ends, see `numbers_of`."""
    wanted = {name: getattr(query, name) for name in ("workspace", "session", "phase", "checkpoint")}
    clauses = [f"{name} = :{name}" for name, value in wanted.items() if value is not None]
    clauses += [clause for name, clause in _TIMES.items() if getattr(query, name) is not None]
    where = " AND ".join([*clauses, "seq BETWEEN :first AND :last"])
    # Told, not left to be guessed: without statistics, any of the indexes looks as good as the others.
    search = f"SELECT {columns} FROM events INDEXED BY {_index(query)} WHERE {where}"  # noqa: S608
    searches = [f"{search} AND type = :type{at}" for at in range(len(query.types))]
    first, last = numbers
    arguments = {**wanted, **_times(query), "first": max(first, min(query.after, HIGHEST) + 1), "last": last}
    arguments |= {f"type{at}": kind for at, kind in enumerate(query.types)}
    return f"{' UNION ALL '.join(searches)} ORDER BY seq LIMIT :limit", {**arguments, "limit": query.limit}


def numbers_of(query: EventQuery) -> tuple[str, dict[str, object]]:
    """A statement for the first and the last number that an event in the query's time can have.

    A clock may have been set back, so that times do not follow numbers: all that are in the time are asked. That
    reads the index of times, not the events.
    """
    times = "SELECT {}(seq) FROM events INDEXED BY events_by_time WHERE workspace = :workspace AND {}"
    first = "0" if query.since is None else f"({times.format('MIN', _TIMES['since'])})"
    last = str(HIGHEST) if query.until is None else f"({times.format('MAX', _TIMES['until'])})"
    statement = f"SELECT COALESCE({first}, {HIGHEST}), COALESCE({last}, 0)"
    return statement, {"workspace": query.workspace, **_times(query)}


def _times(query: EventQuery) -> dict[str, object]:
    """Times are kept as text, all of them in UTC: they sort as they follow each other."""
    given = {"since": query.since, "until": query.until}
    return {name: time.astimezone(UTC).isoformat() for name, time in given.items() if time is not None}


def _index(query: EventQuery) -> str:
    if query.checkpoint is not None:
        return "events_by_checkpoint"
    if query.session is not None:
        return "events_by_session"
    return "events_by_type" if query.phase is None else "events_by_phase"
