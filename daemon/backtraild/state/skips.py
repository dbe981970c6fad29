"""What the last looks at the disk left out, so that a look at one file can report all of it."""

from collections.abc import Iterable

from backtraild.model import Path, Skipped, SkipReason
from backtraild.state.connection import Connection
from backtraild.state.database import Database, borders

# Remembered where a look at everything left nothing out, until something is: most saves need not ask then.
_NONE, _YES, _NO = "no_skips", "yes", "no"


class Skips:
    """Skipped paths of one workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _connection(self) -> Connection:
        return self._database.connection  # another one once damage was found

    def all(self, limit: int = -1) -> list[Skipped]:
        """In the order of their paths."""
        if self._are_none:
            return []
        rows = self._connection.execute(
            "SELECT path, size, reason FROM skips ORDER BY path LIMIT ?", (limit,)
        )
        return [Skipped(path, size, SkipReason(reason)) for path, size, reason in rows]

    def count(self) -> int:
        """How many there are."""
        return int(self._connection.execute("SELECT COUNT(*) FROM skips").fetchone()[0])

    def replace(self, looked_at: Path, found: Iterable[Skipped]) -> None:
        """What was found at a path and below it takes the place of what was known."""
        # Two statements: one that also asked whether this is the root would read all rows every time.
        if looked_at:
            self.replace_all([looked_at], found)
        else:
            if not self._are_none:
                self._connection.execute("DELETE FROM skips")
                self._database.remember(_NONE, _YES)
            self.add(found)

    def replace_all(self, looked_at: Iterable[Path], found: Iterable[Skipped]) -> None:
        """The same for several paths, none of which is the root."""
        if not self._are_none:
            self._connection.executemany(
                "DELETE FROM skips WHERE path = ?1 OR (path >= ?2 AND path < ?3)",
                [(path, *borders(path)) for path in looked_at],
            )
        self.add(found)

    def add(self, found: Iterable[Skipped]) -> None:
        """Also left out."""
        rows = [(skipped.path, skipped.size, skipped.reason.value) for skipped in found]
        if rows:
            if self._are_none:
                self._database.remember(_NONE, _NO)
            self._connection.executemany("INSERT OR REPLACE INTO skips VALUES (?, ?, ?)", rows)

    @property
    def _are_none(self) -> bool:
        return self._database.fact(_NONE) == _YES
