"""The stat table: what each captured file looked like when its content was read.

Between transactions its rows are exactly the files of one tree, whose id is remembered beside them. They lie in bundles
of neighbouring files, so that a change costs one bundle, however many files its folder has.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from backtraild.model import Changes, Entry, Path, split_path
from backtraild.state.ahead import Ahead
from backtraild.state.bundle import READ_AGAIN, BundleDamaged, Row, Stat, pack, split, unpack
from backtraild.state.connection import Connection
from backtraild.state.database import Database
from backtraild.state.places import folder_of, key_of, range_of

_TREE, _FILES = "tree", "files"
# The bundle that a name of a folder belongs to, and the one after it, whose first name is the border between them.
_AROUND = """
SELECT id, first, bundle FROM files WHERE folder = ?1 AND first >= COALESCE(
    (SELECT MAX(first) FROM files WHERE folder = ?1 AND first <= ?2), x''
) ORDER BY first LIMIT 2
"""


class _Place(NamedTuple):
    """Where rows of a folder belong that stand together."""

    id: int | None  # of their bundle, if there is one
    first: bytes | None
    rows: dict[bytes, Row]
    end: bytes | None  # the first name of the bundle after it


class StatTable:
    """Rows by folder and name."""

    def __init__(self, database: Database) -> None:
        self._database = database
        # What was asked for last, in which transaction, and as long as nothing was written since.
        self._last: tuple[tuple[int, bytes, bytes], _Place] | None = None
        self.is_written = False  # since it was opened, whatever became of that

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
        return {name: Stat._make(row) for name, row in self.rows(folder).items()}

    def rows(self, folder: Path) -> dict[bytes, Row]:
        """The same without making values of them."""
        key = key_of(folder)
        found = self._connection.execute("SELECT bundle FROM files WHERE folder = ?", (key,)).fetchall()
        rows: dict[bytes, Row] = {}
        for (bundle,) in found:
            rows.update(self._unpacked(key, bundle))
        return rows

    def ahead(self, scope: Path) -> Ahead:
        """The rows of a folder and of those below it, for a walk through all of them."""
        return Ahead(self._connection, scope)

    def get(self, path: Path) -> Stat | None:
        """One file."""
        folder, name = split_path(path)
        return self.some(folder, [name]).get(name)

    def some(self, folder: Path, names: Iterable[bytes]) -> dict[bytes, Stat]:
        """Those of these files of a folder that there are."""
        return {
            name: Stat._make(place.rows[name])
            for place, here in self._places(folder, names)
            for name in here
            if name in place.rows
        }

    def has_below(self, folder: Path) -> bool:
        """Is there a file in any folder inside this one?"""
        query = "SELECT EXISTS (SELECT 1 FROM files WHERE folder > ? AND folder < ?)"
        return bool(self._connection.execute(query, range_of(folder)).fetchone()[0])

    def put(self, folder: Path, stats: Iterable[tuple[bytes, Stat]]) -> None:
        """Add or replace files of a folder."""
        added = dict(stats)
        for place, names in self._places(folder, added):
            self._replace(folder, place, place.rows | {name: added[name] for name in names})

    def remove(self, folder: Path, names: Iterable[bytes]) -> None:
        """Forget files of a folder."""
        for place, here in self._places(folder, names):
            gone = frozenset(here)
            kept = {name: row for name, row in place.rows.items() if name not in gone}
            if len(kept) < len(place.rows):
                self._replace(folder, place, kept)

    def below(self, folder: Path) -> Iterator[tuple[Path, Stat]]:
        """Every file in a folder and the folders in it."""
        query = "SELECT folder, bundle FROM files WHERE folder >= ? AND folder < ?"
        for key, bundle in self._connection.execute(query, range_of(folder)).fetchall():
            for name, row in self._unpacked(key, bundle).items():
                yield key[1:] + name, Stat._make(row)

    def folders_below(self, folder: Path) -> list[Path]:
        """The folder and all below it that have files."""
        query = "SELECT DISTINCT folder FROM files WHERE folder >= ? AND folder < ?"
        return [folder_of(key) for (key,) in self._connection.execute(query, range_of(folder))]

    def count(self, path: Path) -> int:
        """How many files there are at a path and below it."""
        if not path:
            return self.files
        query = "SELECT COALESCE(SUM(count), 0) FROM files WHERE folder >= ? AND folder < ?"
        below = int(self._connection.execute(query, range_of(path)).fetchone()[0])
        return below + (self.get(path) is not None)

    def size(self) -> int:
        """The size of all files together."""
        return int(self._connection.execute("SELECT COALESCE(SUM(size), 0) FROM files").fetchone()[0])

    def follow(self, changes: Changes, tree: str) -> None:
        """Turn the rows into those of another tree; what differs will be read again at the next look."""
        folders: dict[Path, dict[bytes, Entry | None]] = {}
        for path, change in changes.items():
            folder, name = split_path(path)
            folders.setdefault(folder, {})[name] = change.new
        for folder, entries in folders.items():
            self.remove(folder, [name for name, entry in entries.items() if entry is None])
            self.put(folder, [(name, _unread(entry)) for name, entry in entries.items() if entry is not None])
        self.adopt(tree, changes)

    def distrust(self) -> None:
        """Whatever the files look like, the next look reads all of them."""
        for folder in self.folders_below(b""):
            stats = self.folder(folder).items()
            self.put(folder, [(name, stat._replace(ctime_ns=READ_AGAIN)) for name, stat in stats])

    def clear(self) -> None:
        """Forget everything."""
        self._last, self.is_written = None, True
        self._connection.execute("DELETE FROM files")
        self._database.forget(_TREE, _FILES)

    def _places(self, folder: Path, names: Iterable[bytes]) -> Iterator[tuple[_Place, list[bytes]]]:
        """The bundles that names of a folder belong to, each with those names."""
        left = sorted(names)
        while left:
            place = self._around(folder, left[0])
            count = len(left) if place.end is None else bisect_left(left, place.end)
            yield place, left[:count]
            left = left[count:]

    def _around(self, folder: Path, name: bytes) -> _Place:
        """Rows are asked for, and soon after others put in their place."""
        key = key_of(folder)
        if not self._connection.in_transaction:
            return self._read_around(key, name)
        asked = self._database.transactions, key, name
        if self._last is None or self._last[0] != asked:
            self._last = asked, self._read_around(key, name)
        return self._last[1]

    def _read_around(self, key: bytes, name: bytes) -> _Place:
        found = self._connection.execute(_AROUND, (key, name)).fetchall()
        if not found:
            return _Place(None, None, {}, None)
        number, first, bundle = found[0]
        rows = self._unpacked(key, bundle)
        end = found[1][1] if len(found) > 1 else None
        with self._connection.failing:
            if next(iter(rows)) != first or (end is not None and end <= name):
                raise BundleDamaged("rows of files are not where they should be")
        return _Place(number, first, rows, end)

    def _unpacked(self, key: bytes, bundle: bytes) -> dict[bytes, Row]:
        with self._connection.failing:
            return unpack(key, bundle)

    def _replace(self, folder: Path, place: _Place, rows: Mapping[bytes, Row]) -> None:
        """Write a bundle again, as several where it has become too large, and not at all where it is empty."""
        key, self._last, self.is_written = key_of(folder), None, True
        parts = [(next(iter(part)), _size(part), len(part), pack(key, part)) for part in split(rows)]
        if len(parts) == 1 and parts[0][0] == place.first:  # its place stays, and so does the index of places
            query = "UPDATE files SET size = ?, count = ?, bundle = ? WHERE id = ?"
            self._connection.execute(query, (*parts[0][1:], place.id))
            return
        if place.id is not None:
            self._connection.execute("DELETE FROM files WHERE id = ?", (place.id,))
        self._connection.executemany(
            "INSERT INTO files (folder, first, size, count, bundle) VALUES (?, ?, ?, ?, ?)",
            [(key, *part) for part in parts],
        )


def _unread(entry: Entry) -> Stat:
    """A file whose content is known and whose looks are not."""
    return Stat(entry.mode, entry.oid, size=0, mtime_ns=0, ctime_ns=READ_AGAIN, inode=0)


def _size(rows: Mapping[bytes, Row]) -> int:
    return sum([row[2] for row in rows.values()])
