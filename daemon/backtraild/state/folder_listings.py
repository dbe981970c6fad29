"""What was in folders beside the files that have rows, when a start listed them; read by the scouts of the next one."""

from collections.abc import Iterable

from backtraild.state.connection import Connection
from backtraild.state.database import Database


class FolderListings:
    """By the key of the folder, as bytes that `layout` understands."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _connection(self) -> Connection:
        return self._database.connection  # another one once damage was found

    def keep(self, listings: Iterable[tuple[bytes, bytes]]) -> None:
        """These take the place of earlier ones."""
        self._connection.executemany("INSERT OR REPLACE INTO listings VALUES (?, ?)", listings)

    def begin_anew_beyond(self, most: int) -> None:
        """Where there are more than this, they are of folders that are gone, and all go: nobody would look those up."""
        if self._connection.execute("SELECT COUNT(*) FROM listings").fetchone()[0] > most:
            self._connection.execute("DELETE FROM listings")
