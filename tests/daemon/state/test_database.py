"""The table beside the store: all or nothing, and thrown away rather than trusted when something is wrong."""

import contextlib
import os
import random
import re
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed
from backtraild.state import Database, Stat, StatTable
from backtraild.state.database import VERSION


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def database(path: Path) -> Iterator[Database]:
    opened = Database(str(path))
    yield opened
    opened.close()


def row(number: int) -> Stat:
    return Stat(0o100644, bytes([number % 256]) * 20, number, number, number, number)


def test_a_transaction_that_ends_well_is_kept(database: Database, path: Path) -> None:
    """The next start finds what the last save wrote."""
    with database.transaction():
        database.remember("tree", "abc")
        database.remember("tree", "def")
    database.close()
    again = Database(str(path))
    assert again.fact("tree") == "def"
    assert again.fact("other") is None
    again.close()


def test_a_transaction_that_fails_leaves_nothing(database: Database) -> None:
    """A scan whose checkpoint was not written is not remembered: its files would not be looked at again."""
    table = StatTable(database)
    with database.transaction():
        table.put(b"", [(b"kept", row(1))])
    with contextlib.suppress(ZeroDivisionError), database.transaction():
        table.put(b"", [(b"dropped", row(2))])
        table.remove(b"", [b"kept"])
        raise ZeroDivisionError
    assert set(table.folder(b"")) == {b"kept"}
    with database.transaction():
        table.put(b"", [(b"later", row(3))])
    assert set(table.folder(b"")) == {b"kept", b"later"}


def test_an_interrupted_transaction_leaves_nothing(database: Database) -> None:
    """Ctrl-C and the end of the process are no excuse."""
    with contextlib.suppress(KeyboardInterrupt), database.transaction():
        database.remember("tree", "abc")
        raise KeyboardInterrupt
    assert database.fact("tree") is None


def test_an_error_of_sqlite_is_told_as_ours(database: Database) -> None:
    """Callers know StoreFailed; they do not know SQLite."""
    with pytest.raises(StoreFailed, match="no such table") as caught, database.transaction():
        database.connection.execute("SELECT * FROM missing")
    assert caught.value.hint


def test_a_full_database_is_told_as_ours_and_works_again(database: Database) -> None:
    """Disk full while the table is written: the save fails in our words, the next one works."""
    (pages,) = database.connection.execute("PRAGMA page_count").fetchone()
    database.connection.execute(f"PRAGMA max_page_count = {pages}")
    table = StatTable(database)
    with pytest.raises(StoreFailed, match="full"), database.transaction():
        table.put(b"", [(b"%d" % number, row(number)) for number in range(5000)])
    database.connection.execute("PRAGMA max_page_count = 100000")
    assert list(table.below(b"")) == []
    with database.transaction():
        table.put(b"", [(b"a", row(1))])
    assert list(table.below(b"")) == [(b"a", row(1))]


def fill(path: Path) -> None:
    database = Database(str(path))
    with database.transaction():
        StatTable(database).put(b"", [(b"%d" % number, row(number)) for number in range(2000)])
        database.remember("tree", "abc")
    database.close()


def test_a_large_transaction_leaves_no_large_file_behind(database: Database, path: Path) -> None:
    """The first look writes a row for every file: what SQLite logged of it would take as much again, for ever."""
    log = path.with_name("state.db-wal")
    with database.transaction():
        StatTable(database).put(b"", [(b"%050d" % number, row(number)) for number in range(60_000)])
    assert log.stat().st_size > 4 * 1024 * 1024
    for number in range(2):
        with database.transaction():
            StatTable(database).put(b"", [(b"a", row(number))])
    assert log.stat().st_size <= 1024 * 1024


@pytest.mark.parametrize(
    "content", [b"garbage" * 1000, b"SQLite format 3\0" + bytes(5000), b"\0" * 100, b"x"]
)
def test_a_damaged_database_is_made_anew(content: bytes, path: Path) -> None:
    """Nothing in it is irreplaceable; refusing to start over it would be worse than a full scan."""
    path.write_bytes(content)
    path.with_name("state.db-wal").write_bytes(b"left over")
    database = Database(str(path))
    assert database.fact("tree") is None
    fresh = StatTable(database)
    with database.transaction():
        fresh.put(b"", [(b"a", row(1))])
    assert list(fresh.below(b"")) == [(b"a", row(1))]
    database.close()


def test_an_emptied_database_is_made_anew(path: Path) -> None:
    """A file of no bytes is what a full disk leaves."""
    fill(path)
    path.write_bytes(b"")
    database = Database(str(path))
    assert database.fact("tree") is None
    database.close()


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1, 99, -1])
def test_a_database_of_another_version_is_made_anew(version: int, path: Path) -> None:
    """An older Backtrail after a newer one: the table is rebuilt, not guessed at."""
    fill(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {version}")
    connection.execute("DROP TABLE skips")
    connection.close()
    database = Database(str(path))
    assert database.fact("tree") is None
    assert database.connection.execute("SELECT COUNT(*) FROM skips").fetchone() == (0,)
    database.close()


def test_a_foreign_database_is_made_anew(path: Path) -> None:
    """A table of ours with other columns under the same name is not ours."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE files (something TEXT)")
    connection.close()
    database = Database(str(path))
    assert list(StatTable(database).below(b"")) == []
    database.close()


def test_a_database_that_cannot_be_made_is_told_as_ours(tmp_path: Path) -> None:
    """A missing folder or a full disk at start: one sentence that says which, not a traceback of SQLite."""
    path = str(tmp_path / "missing" / "state.db")
    with pytest.raises(StoreFailed, match=f"{re.escape(path)}, could not be used"):
        Database(path)


def test_a_table_whose_disk_is_full_says_where_it_lies(path: Path) -> None:
    """Stores may lie on several disks, and only one of them has to be cleared."""
    database = Database(str(path))
    database.connection.execute("PRAGMA max_page_count = 1")
    for write in (lambda: database.remember("a", "x" * 100_000), lambda: _remember_in_one(database)):
        with pytest.raises(StoreFailed, match=f"{re.escape(str(path))}, could not be used: .*full"):
            write()
    database.close()


def _remember_in_one(database: Database) -> None:
    with database.transaction():
        database.remember("a", "x" * 100_000)


@pytest.mark.parametrize("seed", range(6))
def test_damage_anywhere_is_reported_or_healed_and_never_lasts(seed: int, path: Path) -> None:
    """A bad page shows when it is read. It may cost one failure; after that the table is made anew."""
    print(f"seed {seed}")  # shown when the test fails
    fill(path)
    source = random.Random(seed)
    content = bytearray(path.read_bytes())
    for page in source.sample(range(1, len(content) // 4096), 5):
        content[page * 4096 : page * 4096 + 4096] = source.randbytes(4096)
    path.write_bytes(content)
    database = Database(str(path))
    table = StatTable(database)
    failures = 0
    while failures < 3:
        try:
            with database.transaction():
                table.put(b"", [(b"%d" % number, row(number)) for number in range(2000)])
                assert dict(table.below(b"")) == {b"%d" % number: row(number) for number in range(2000)}
            break
        except StoreFailed:
            failures += 1
    assert failures <= 1  # none where the damage showed at opening, or fell on a table that is empty
    database.close()


def test_a_table_that_cannot_be_opened_now_is_not_thrown_away(path: Path) -> None:
    """For want of a descriptor, every file of the workspace would be read again."""
    with contextlib.closing(Database(str(path))) as database, database.transaction():
        database.remember("tree", "abc")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = max(map(int, os.listdir("/proc/self/fd")))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(used)]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(held) + 1, limit[1]))
        with pytest.raises(StoreFailed, match="unable to open"):
            Database(str(path))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
        for descriptor in held:
            os.close(descriptor)
    with contextlib.closing(Database(str(path))) as database:
        assert database.fact("tree") == "abc"


def test_a_table_that_can_only_be_read_is_not_taken_for_open(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite falls back to reading by itself, and every save would then leave the table further behind."""
    Database(str(path)).close()
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda name, **options: connect(f"file:{name}?mode=ro", uri=True, **options)
    )
    with pytest.raises(StoreFailed, match="readonly"):
        Database(str(path))
    assert path.exists()
