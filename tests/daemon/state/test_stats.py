"""The stat table and the list of skipped files: names are bytes, and folders have exact borders."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backtraild.model import (
    EXECUTABLE_MODE,
    FILE_MODE,
    Change,
    Entry,
    Skipped,
    SkipReason,
    is_below,
    join_path,
    split_path,
)
from backtraild.state import Database, Skips, Stat, StatTable, TableLost

# Around `/` in the order of bytes stand `.` and `0`; the end of the bytes is 0xff.
TRICKY = [
    b"a",
    b"a-b",
    b"a.b",
    b"a/b",
    b"a/b/c",
    b"a/\xff",
    b"a/\xff/\xff",
    b"a0",
    b"a0/b",
    b"a\xff",
    b"ab",
    b"b",
    b"\xff/a",
]
paths = st.sampled_from(TRICKY) | st.lists(
    st.sampled_from([b"a", b"b", b"-", b"0", b"\xff", b".", b"a b"]), min_size=1, max_size=4
).map(b"/".join)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(str(tmp_path / "state.db"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    opened = Database(str(tmp_path_factory.mktemp("state") / "state.db"))
    yield opened
    opened.close()


@pytest.fixture
def table(database: Database) -> StatTable:
    return StatTable(database)


def row(number: int) -> Stat:
    return Stat(FILE_MODE, bytes([number % 256]) * 20, number, number * 10**9, number * 10**9 + 1, number)


def fill(table: StatTable, files: list[bytes]) -> None:
    for number, path in enumerate(files):
        folder, name = split_path(path)
        table.put(folder, [(name, row(number))])


@given(st.lists(paths, unique=True, max_size=12), paths | st.just(b""))
@example(TRICKY, b"a")
@example(TRICKY, b"a/b")
@example(TRICKY, b"\xff")
@example(TRICKY, b"")
def test_what_is_below_a_folder_is_found_and_nothing_beside_it(
    shared: Database, files: list[bytes], folder: bytes
) -> None:
    """A deleted folder takes its files along, not those of a neighbour with a similar name."""
    table = StatTable(shared)
    table.clear()
    fill(table, files)
    table.adopt("ab" * 20, {path: Change(None, row(0).entry) for path in files})
    wanted = {path: row(number) for number, path in enumerate(files) if is_below(path, folder)}
    assert dict(table.below(folder)) == wanted
    assert sorted(table.folders_below(folder)) == sorted({split_path(path)[0] for path in wanted})
    at_or_below = {path for path in files if path == folder or is_below(path, folder)}
    assert table.count(folder) == len(at_or_below)


def test_a_folder_gives_the_files_directly_in_it(table: StatTable) -> None:
    """A look at one folder compares with these."""
    fill(table, TRICKY)
    assert set(table.folder(b"a")) == {b"b", b"\xff"}
    assert set(table.folder(b"")) == {b"a", b"a-b", b"a.b", b"a0", b"a\xff", b"ab", b"b"}
    assert table.folder(b"nothing") == {}


def test_a_file_is_found_by_its_whole_path(table: StatTable) -> None:
    """Every field comes back as it was put, also for a name that is not UTF-8."""
    odd = Stat(EXECUTABLE_MODE, b"\xfe" * 20, 2**40, 1_700_000_000_123_456_789, -1, 2**62)
    table.put(b"a/\xff", [(b"\xff\n", odd)])
    assert table.get(b"a/\xff/\xff\n") == odd
    assert odd.entry == Entry(EXECUTABLE_MODE, b"\xfe" * 20)
    for path in (b"a", b"a/\xff", b"\xff\n", b"a/\xff/\xff"):
        assert table.get(path) is None


def test_putting_replaces_and_removing_forgets(table: StatTable) -> None:
    """A changed file has one row, a deleted one has none."""
    fill(table, [b"d/x", b"d/y", b"x"])
    table.put(b"d", [(b"x", row(100))])
    table.remove(b"d", [b"y", b"never there"])
    assert dict(table.below(b"")) == {b"d/x": row(100), b"x": row(2)}
    assert table.size() == 102


def test_clearing_forgets_everything(table: StatTable) -> None:
    """The start of a table that begins anew."""
    fill(table, TRICKY)
    table.adopt("ab" * 20, {path: Change(None, row(0).entry) for path in TRICKY})
    assert table.files == len(TRICKY)
    table.clear()
    assert (table.files, table.size(), list(table.below(b""))) == (0, 0, [])


def test_the_tree_is_remembered_beside_the_rows(table: StatTable, database: Database) -> None:
    """It tells whose files the rows are; both change in one transaction."""
    assert table.tree is None
    some = Entry(FILE_MODE, bytes(20))
    with contextlib.suppress(ZeroDivisionError), database.transaction():
        table.adopt("ab" * 20, {b"a": Change(None, some)})
        raise ZeroDivisionError
    assert (table.tree, table.files) == (None, 0)
    table.adopt("cd" * 20, {b"a": Change(None, some), b"b": Change(None, some)})
    assert (table.tree, table.files) == ("cd" * 20, 2)
    table.adopt("ef" * 20, {b"a": Change(some, None), b"b": Change(some, some)})
    assert (table.tree, table.files) == ("ef" * 20, 1)


folders = st.sampled_from([b"", b"a", b"a/b", b"a-b", b"a0"])
some_names = st.lists(st.integers(0, 150).map(lambda number: b"%03d" % number), unique=True, max_size=60)
steps = st.lists(st.tuples(st.booleans(), folders, some_names), max_size=12)


@given(steps, folders, some_names)
@settings(max_examples=60)
def test_any_sequence_of_changes_leaves_the_rows_that_it_should(
    shared: Database, changes: list[tuple[bool, bytes, list[bytes]]], folder: bytes, asked: list[bytes]
) -> None:
    """Rows that stand together are written together: those beside a changed one must not change."""
    table = StatTable(shared)
    table.clear()
    wanted: dict[bytes, Stat] = {}
    for number, (is_put, place, names) in enumerate(changes):
        paths = {name: join_path(place, name) for name in names}
        if is_put:
            table.put(place, [(name, row(number)) for name in names])
            wanted.update((path, row(number)) for path in paths.values())
        else:
            table.remove(place, names)
            wanted = {path: stat for path, stat in wanted.items() if path not in paths.values()}
    here = {split_path(path)[1]: stat for path, stat in wanted.items() if split_path(path)[0] == folder}
    assert dict(table.below(b"")) == wanted
    assert (table.folder(folder), table.rows(folder)) == (here, here)
    assert table.some(folder, asked) == {name: stat for name, stat in here.items() if name in asked}
    assert all(table.get(join_path(folder, name)) == here.get(name) for name in asked[:3])
    assert table.has_below(folder) == any(is_below(split_path(path)[0], folder) for path in wanted)
    assert table.size() == sum(stat.size for stat in wanted.values())


def test_a_change_in_a_folder_of_very_many_files_writes_few_rows(
    table: StatTable, database: Database
) -> None:
    """Some folders are flat: a save there must not write a row for each of 20,000 files."""
    table.put(b"flat", [(b"%05d" % number, row(number)) for number in range(20_000)])
    statements: list[str] = []
    database.connection._connection.set_trace_callback(statements.append)
    table.put(b"flat", [(b"12345", row(1)), (b"12345 and a half", row(2))])
    table.remove(b"flat", [b"12346"])
    database.connection._connection.set_trace_callback(None)
    assert len(statements) <= 6
    assert sum(map(len, statements)) < 20_000, "with the bytes of all bundles in them, as hexadecimal digits"
    assert len(table.rows(b"flat")) == 20_000


def test_files_that_go_leave_nothing_behind(table: StatTable, database: Database) -> None:
    """A folder that was emptied is none that has files, and takes no room."""
    names = [b"%05d" % number for number in range(500)]
    table.put(b"a", [(name, row(1)) for name in names])
    table.remove(b"a", names)
    assert table.folders_below(b"") == []
    assert database.connection.execute("SELECT COUNT(*) FROM files").fetchone() == (0,)


def test_distrusted_files_are_all_read_again(table: StatTable) -> None:
    """After damage, a look that reads every file finds what the store lacks."""
    fill(table, TRICKY)
    table.distrust()
    assert dict(table.below(b"")) == {
        path: row(number)._replace(ctime_ns=-1) for number, path in enumerate(TRICKY)
    }


@pytest.mark.parametrize("is_inside", [False, True])
@pytest.mark.parametrize(
    "question",
    [
        lambda table: table.rows(b"a"),
        lambda table: table.get(b"a/b"),
        lambda table: table.put(b"a", [(b"c", row(1))]),
        lambda table: list(table.below(b"")),
    ],
)
def test_a_damaged_bundle_takes_the_table_with_it(
    table: StatTable, database: Database, question: Callable[[StatTable], object], is_inside: bool
) -> None:
    """As SQLite's own damage does: nothing in it is irreplaceable, and nothing wrong in it may be believed."""
    fill(table, TRICKY)
    table.adopt("ab" * 20, {})
    database.connection.execute("UPDATE files SET bundle = CAST(bundle || x'00' AS BLOB)")
    with pytest.raises(TableLost), database.transaction() if is_inside else contextlib.nullcontext():
        question(table)
    assert (table.tree, list(table.below(b""))) == (None, [])
    assert database.beginnings == 1


def test_a_bundle_in_the_wrong_place_takes_the_table_with_it(table: StatTable, database: Database) -> None:
    """A file that is looked for in the wrong bundle would get a second row."""
    table.put(b"a", [(b"%03d" % number, row(number)) for number in range(100)])
    database.connection.execute("UPDATE files SET first = x'ff' WHERE first = (SELECT MIN(first) FROM files)")
    with pytest.raises(TableLost), database.transaction():
        table.put(b"a", [(b"000", row(1)), (b"099", row(2)), (b"\xff\xff", row(3))])
    assert list(table.below(b"")) == []


def test_following_another_tree_marks_what_differs(table: StatTable) -> None:
    """After a restore or a lost transaction, exactly the files that differ are read again."""
    fill(table, [b"same", b"d/changed", b"d/gone", b"becomes"])
    new = Entry(EXECUTABLE_MODE, b"\x77" * 20)
    old = Entry(FILE_MODE, bytes(20))
    table.follow(
        {
            b"d/changed": Change(old, new),
            b"d/gone": Change(old, None),
            b"becomes": Change(old, None),
            b"becomes/folder": Change(None, new),
        },
        "ef" * 20,
    )
    rows = dict(table.below(b""))
    assert rows.pop(b"same") == row(0)
    assert {path: (stat.entry, stat.ctime_ns) for path, stat in rows.items()} == {
        b"d/changed": (new, -1),
        b"becomes/folder": (new, -1),
    }
    assert table.tree == "ef" * 20


def skipped(path: bytes, reason: SkipReason = SkipReason.TOO_LARGE) -> Skipped:
    return Skipped(path, 5, reason)


@given(
    st.lists(paths, unique=True, max_size=12), paths | st.just(b""), st.lists(paths, unique=True, max_size=3)
)
@example(TRICKY, b"a", [])
@example(TRICKY, b"a/b", [b"a/b"])
@example(TRICKY, b"\xff", [])
@example(TRICKY, b"", [b"a"])
def test_a_look_replaces_what_was_skipped_there_and_nowhere_else(
    shared: Database, known: list[bytes], looked_at: bytes, found: list[bytes]
) -> None:
    """A look at one folder says nothing about the large file in the folder beside it."""
    skips = Skips(shared)
    skips.replace(b"", [])
    skips.add(map(skipped, known))
    fresh = [skipped(path, SkipReason.CHANGING) for path in found]
    skips.replace(looked_at, fresh)
    kept = {path: skipped(path) for path in known if path != looked_at and not is_below(path, looked_at)}
    wanted = kept | {left.path: left for left in fresh}
    assert skips.all() == [wanted[path] for path in sorted(wanted)]
    assert skips.count() == len(wanted)
    assert skips.all(2) == skips.all()[:2]


def test_every_reason_comes_back(database: Database) -> None:
    """A person asks why a file is not in the checkpoint."""
    skips = Skips(database)
    every = [Skipped(b"%d\xff" % at, 2**50, reason) for at, reason in enumerate(SkipReason)]
    skips.add(every)
    assert skips.all() == every


STAT = Stat(FILE_MODE, b"\1" * 20, 1, 10**9, 10**9 + 1, 1)


def test_rows_that_were_just_asked_for_are_not_asked_for_again_when_they_are_written(
    table: StatTable, database: Database
) -> None:
    """As every save does with the file that was changed."""
    asked: list[str] = []
    with database.transaction():
        table.put(b"folder", [(b"a", STAT), (b"b", STAT)])
        database.connection._connection.set_trace_callback(asked.append)
        assert table.some(b"folder", [b"a"]) == {b"a": STAT}
        table.put(b"folder", [(b"a", STAT._replace(size=9))])
    assert [line.split()[0] for line in asked] == ["SELECT", "UPDATE", "COMMIT"]
    assert table.folder(b"folder") == {b"a": STAT._replace(size=9), b"b": STAT}


def test_what_was_asked_for_is_not_believed_after_a_change_or_in_another_transaction(
    table: StatTable, database: Database
) -> None:
    """What a transaction leaves behind that is taken back must not come back with the next."""
    with database.transaction():
        table.put(b"folder", [(b"a", STAT), (b"b", STAT)])
    with contextlib.suppress(ZeroDivisionError), database.transaction():
        table.remove(b"folder", [b"b"])
        assert table.some(b"folder", [b"a", b"b"]) == {b"a": STAT}
        raise ZeroDivisionError
    assert table.some(b"folder", [b"a"]) == {b"a": STAT}
    with database.transaction():
        table.put(b"folder", [(b"a", STAT._replace(size=9))])
    assert table.folder(b"folder") == {b"a": STAT._replace(size=9), b"b": STAT}
    with database.transaction():
        assert table.some(b"folder", [b"a"]) == {b"a": STAT._replace(size=9)}
        table.remove(b"folder", [b"b"])
        table.put(b"folder", [(b"a", STAT)])
    assert table.folder(b"folder") == {b"a": STAT}
