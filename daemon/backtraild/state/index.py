"""Finding checkpoints by time, kind, session, path or the beginning of their id, without opening them all."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from backtraild.model import Checkpoint, Kind, Path
from backtraild.state.connection import Connection
from backtraild.state.database import Database, borders
from backtraild.state.traces import Traces

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Each part is found in an index of its own: the cost follows the changes of the path, not the checkpoints.
_TOUCHES = (
    "number IN (SELECT number FROM changed_paths WHERE path = :path"
    " UNION SELECT number FROM changed_paths WHERE path >= :below AND path < :beyond"
    " UNION SELECT number FROM checkpoints WHERE NOT complete)"
)


class Query(Struct, frozen=True):
    """Which checkpoints are wanted; an unset field asks for nothing. Newest first, before a number."""

    limit: int = 50
    before: int | None = None
    since: datetime | None = None
    until: datetime | None = None
    kind: Kind | None = None
    session: str | None = None
    path: Path | None = None


class Index:
    """One row a checkpoint, one row a changed path."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._requests: Traces | None = None  # of all that are indexed, and perhaps of others

    @property
    def _connection(self) -> Connection:
        return self._database.connection  # another one once damage was found

    def numbers(self) -> set[int]:
        """The checkpoints that are indexed."""
        return {row[0] for row in self._connection.execute("SELECT number FROM checkpoints")}

    def ids(self) -> list[tuple[int, str]]:
        """The checkpoints that are indexed, and their commits."""
        return self._connection.execute("SELECT number, id FROM checkpoints ORDER BY number").fetchall()

    def add(self, checkpoint: Checkpoint) -> None:
        """Index a checkpoint. One with a very long list of changes is marked, not listed."""
        complete = checkpoint.files_changed_complete
        if self._requests is not None and checkpoint.request is not None:
            self._requests.leave(checkpoint.request)
        self._connection.execute(
            "INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                checkpoint.number,
                checkpoint.id,
                _microseconds(checkpoint.timestamp),
                checkpoint.kind.value,
                checkpoint.session,
                complete,
                checkpoint.request,
            ),
        )
        if complete:
            paths = {change.path for change in checkpoint.files_changed}
            paths |= {change.old_path for change in checkpoint.files_changed if change.old_path is not None}
            rows = [(path, checkpoint.number) for path in paths]
            self._connection.executemany("INSERT OR IGNORE INTO changed_paths VALUES (?, ?)", rows)

    def remove(self, numbers: Iterable[int]) -> None:
        """Forget checkpoints."""
        rows = [(number,) for number in numbers]
        self._connection.executemany("DELETE FROM changed_paths WHERE number = ?", rows)
        self._connection.executemany("DELETE FROM checkpoints WHERE number = ?", rows)

    def select(self, query: Query) -> list[tuple[int, bool]]:
        """Numbers, newest first. With a path, False marks those that only may have changed it."""
        where, arguments = _conditions(query)
        path = query.path or b""
        below, beyond = borders(path)
        rows = self._connection.execute(
            # A path condition is one of a fixed set of texts; every value is an argument.
            f"SELECT number, complete FROM checkpoints WHERE {where} ORDER BY number DESC LIMIT :limit",  # noqa: S608
            {**arguments, "limit": query.limit, "path": path, "below": below, "beyond": beyond},
        )
        return [(number, bool(complete) or not path) for number, complete in rows]

    def touching(self, path: Path, first: int, limit: int) -> list[tuple[int, bool]]:
        """Numbers from one on, oldest first, of what changed a path; False marks those that only may have."""
        where = f"number >= :first AND {_TOUCHES}" if path else "number >= :first"
        below, beyond = borders(path)
        rows = self._connection.execute(
            f"SELECT number, complete FROM checkpoints WHERE {where} ORDER BY number LIMIT :limit",  # noqa: S608
            {"first": first, "limit": limit, "path": path, "below": below, "beyond": beyond},
        )
        return [(number, bool(complete) or not path) for number, complete in rows]

    def newest_at(self, moment: datetime) -> int | None:
        """The newest checkpoint made at or before a time."""
        row = self._connection.execute(
            "SELECT MAX(number) FROM checkpoints WHERE time_us <= ?", (_microseconds(moment),)
        ).fetchone()
        return None if row[0] is None else int(row[0])

    def by_prefix(self, prefix: str) -> list[tuple[int, str]]:
        """Checkpoints whose id begins like this."""
        rows = self._connection.execute(
            "SELECT number, id FROM checkpoints WHERE id >= ? AND id < ? ORDER BY number",
            (prefix, prefix + "g"),
        )
        return list(rows)

    def outline(self) -> list[tuple[int, datetime, Kind]]:
        """Number, time and kind of every checkpoint, oldest first."""
        rows = self._connection.execute("SELECT number, time_us, kind FROM checkpoints ORDER BY number")
        return [(number, _EPOCH + timedelta(microseconds=time), Kind(kind)) for number, time, kind in rows]

    def by_request(self, request: str) -> int | None:
        """The checkpoint that was made for a request; that there is none, as nearly always, is known without asking."""
        if not self._may_have(request):
            return None
        row = self._connection.execute(
            "SELECT MIN(number) FROM checkpoints WHERE request = ?", (request,)
        ).fetchone()
        return None if row[0] is None else int(row[0])

    def _may_have(self, request: str) -> bool:
        """False if no checkpoint was made for a request."""
        if self._requests is None:
            rows = self._connection.execute("SELECT request FROM checkpoints WHERE request IS NOT NULL")
            self._requests = Traces(each for (each,) in rows)
        return self._requests.may_be_of(request)


def _conditions(query: Query) -> tuple[str, dict[str, object]]:
    wanted: dict[str, object] = {}
    clauses = ["TRUE"]
    for name, clause, value in (
        ("before", "number < :before", query.before),
        ("since", "time_us >= :since", _microseconds(query.since) if query.since else None),
        ("until", "time_us <= :until", _microseconds(query.until) if query.until else None),
        ("kind", "kind = :kind", query.kind.value if query.kind else None),
        ("session", "session = :session", query.session),
    ):
        if value is not None:
            clauses.append(clause)
            wanted[name] = value
    if query.path:
        clauses.append(_TOUCHES)
    return " AND ".join(clauses), wanted


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)
