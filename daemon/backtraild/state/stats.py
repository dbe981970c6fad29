"""The stat table: what each captured file looked like when its content was read.

Between transactions its rows are exactly the files of one tree, whose id is remembered beside them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from backtraild.model import Changes, Entry, ObjectId, Path, join_path, split_path
from backtraild.state.connection import Connection
from backtraild.state.database import Database, borders

_TREE, _FILES = "tree", "files"
_ASKED_AT_ONCE = 500  # SQLite takes so many arguments everywhere, and more in newer versions only
# SQLite's || makes text, which never compares equal to a blob: the borders are made in Python.
_BELOW = "(folder = ?1 OR (folder >= ?2 AND folder < ?3))"


class Stat(NamedTuple):
    """A captured file: what git knows of it, and how the file system showed it.

    `ctime_ns` is -1 where the file may have changed since without showing it: read it again.
    """

    mode: int
    oid: ObjectId
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    @property
    def entry(self) -> Entry:
        """The part that goes into a tree."""
        return Entry(self.mode, self.oid)


# A name and the fields of its Stat, as SQLite gives them.
Row = tuple[bytes, int, ObjectId, int, int, int, int]


def as_stat(row: Row) -> Stat:
    """The row without its name."""
    return Stat._make(row[1:])


class StatTable:
    """Rows by folder and name."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def _connection(self) -> Connection:
        return self._database.connection  # another one once damage was found

    @property
    def tree(self) -> str | None:
        """The tree whose files the rows are."""
        return self._database.fact(_TREE)

    @property
    def files(self) -> int:
        """How many rows there are, without counting them."""
        return int(self._database.fact(_FILES) or 0)

    def adopt(self, tree: str, changes: Changes) -> None:
        """The rows now are the files of this tree, after these changes to them."""
        gained = sum((change.old is None) - (change.new is None) for change in changes.values())
        self._database.remember(_FILES, str(self.files + gained))
        self._database.remember(_TREE, tree)

    def folder(self, folder: Path) -> dict[bytes, Stat]:
        """All files directly in a folder."""
        return {name: as_stat(row) for name, row in self.rows(folder).items()}

    def rows(self, folder: Path) -> dict[bytes, Row]:
        """The same as it comes from the disk: a look compares every file and has a use for few of the values."""
        rows = self._connection.execute(
            "SELECT name, mode, oid, size, mtime_ns, ctime_ns, inode FROM files WHERE folder = ?", (folder,)
        )
        return {row[0]: row for row in rows.fetchall()}

    def get(self, path: Path) -> Stat | None:
        """One file."""
        row = self._connection.execute(
            "SELECT mode, oid, size, mtime_ns, ctime_ns, inode FROM files WHERE folder = ? AND name = ?",
            split_path(path),
        ).fetchone()
        return None if row is None else Stat._make(row)

    def some(self, folder: Path, names: Sequence[bytes]) -> dict[bytes, Stat]:
        """Those of these files of a folder that there are."""
        found: dict[bytes, Stat] = {}
        for start in range(0, len(names), _ASKED_AT_ONCE):
            asked = names[start : start + _ASKED_AT_ONCE]
            where = f"folder = ? AND name IN ({', '.join('?' * len(asked))})"
            query = f"SELECT name, mode, oid, size, mtime_ns, ctime_ns, inode FROM files WHERE {where}"  # noqa: S608
            rows = self._connection.execute(query, (folder, *asked))
            found.update((row[0], Stat._make(row[1:])) for row in rows)
        return found

    def has_below(self, folder: Path) -> bool:
        """Is there a file in any folder inside this one?"""
        where = "folder >= ? AND folder < ?" if folder else "folder > ?"
        query = f"SELECT EXISTS (SELECT 1 FROM files WHERE {where})"  # noqa: S608
        arguments = borders(folder) if folder else (b"",)
        return bool(self._connection.execute(query, arguments).fetchone()[0])

    def put(self, folder: Path, stats: Iterable[tuple[bytes, Stat]]) -> None:
        """Add or replace files of a folder."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO files (folder, name, mode, oid, size, mtime_ns, ctime_ns, inode)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [(folder, name, *stat) for name, stat in stats],
        )

    def remove(self, folder: Path, names: Iterable[bytes]) -> None:
        """Forget files of a folder."""
        rows = [(folder, name) for name in names]
        self._connection.executemany("DELETE FROM files WHERE folder = ? AND name = ?", rows)

    def below(self, folder: Path) -> Iterator[tuple[Path, Stat]]:
        """Every file in a folder and the folders in it."""
        where, arguments = _scope(folder)
        rows = self._connection.execute(
            f"SELECT folder, name, mode, oid, size, mtime_ns, ctime_ns, inode FROM files WHERE {where}",  # noqa: S608
            arguments,
        )
        for row in rows:
            yield join_path(row[0], row[1]), Stat._make(row[2:])

    def folders_below(self, folder: Path) -> list[Path]:
        """The folder and all below it that have files."""
        where, arguments = _scope(folder)
        rows = self._connection.execute(f"SELECT DISTINCT folder FROM files WHERE {where}", arguments)  # noqa: S608
        return [row[0] for row in rows]

    def count(self, path: Path) -> int:
        """How many files there are at a path and below it."""
        if not path:
            return self.files
        where, arguments = _scope(path)
        query = f"SELECT COUNT(*) FROM files WHERE {where} OR (folder = ?4 AND name = ?5)"  # noqa: S608
        return int(self._connection.execute(query, (*arguments, *split_path(path))).fetchone()[0])

    def size(self) -> int:
        """The size of all files together."""
        return int(self._connection.execute("SELECT COALESCE(SUM(size), 0) FROM files").fetchone()[0])

    def follow(self, changes: Changes, tree: str) -> None:
        """Turn the rows into those of another tree; what differs will be read again at the next look."""
        for path, change in changes.items():
            folder, name = split_path(path)
            if change.new is None:
                self.remove(folder, [name])
            else:
                self.put(folder, [(name, Stat(change.new.mode, change.new.oid, 0, 0, -1, 0))])
        self.adopt(tree, changes)

    def distrust(self) -> None:
        """Whatever the files look like, the next look reads all of them."""
        self._connection.execute("UPDATE files SET ctime_ns = -1")

    def clear(self) -> None:
        """Forget everything."""
        self._connection.execute("DELETE FROM files")
        self._connection.execute("DELETE FROM facts WHERE name IN (?, ?)", (_TREE, _FILES))


def _scope(folder: Path) -> tuple[str, tuple[Path, ...]]:
    return (_BELOW, (folder, *borders(folder))) if folder else ("TRUE", ())
