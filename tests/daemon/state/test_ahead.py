"""Rows that are read ahead: the same as without, for a fraction of the questions."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from backtraild.model import FILE_MODE, join_path
from backtraild.state import Database, Stat, StatTable, walking_order
from backtraild.state.ahead import AT_ONCE

NAMES = [b"a", b"a-", b"a.b", b"a0", b"\xff"]
folders = st.lists(st.sampled_from(NAMES), max_size=3).map(b"/".join)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    opened = Database(str(tmp_path_factory.mktemp("state") / "state.db"))
    yield opened
    opened.close()


def row(number: int) -> Stat:
    return Stat(FILE_MODE, bytes([number % 256]) * 20, number, number, number, number)


def questions(database: Database, asked: Iterator[object]) -> int:
    """How many statements it takes to be told all of this."""
    seen: list[str] = []
    database.connection._connection.set_trace_callback(seen.append)
    for _ in asked:
        pass
    database.connection._connection.set_trace_callback(None)
    return len(seen)


@given(st.dictionaries(folders, st.integers(1, 90), max_size=8), folders, st.lists(folders))
@example({b"": 3, b"a": 90, b"a/a": 90, b"a-": 2}, b"", [b"a/a", b"a", b"", b"a-"])
@settings(max_examples=40)
def test_any_folder_is_answered_as_the_table_has_it(
    database: Database, counts: dict[bytes, int], scope: bytes, asked: list[bytes]
) -> None:
    """In whatever order the folders come: a row that is overlooked would make a new file of a known one."""
    table = StatTable(database)
    table.clear()
    for folder, count in counts.items():
        table.put(folder, [(b"%d" % number, row(number)) for number in range(count)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("backtraild.state.ahead.AT_ONCE", 2)
        ahead = table.ahead(scope)
        for folder in asked:
            if folder == scope or not scope or folder.startswith(scope + b"/"):
                assert ahead.rows(folder) == table.rows(folder)


def walk(folder: bytes, depth: int) -> Iterator[bytes]:
    """A walk as a look does it."""
    yield folder
    if depth:
        for name in sorted(NAMES, key=walking_order):
            yield from walk(join_path(folder, name), depth - 1)


def test_a_walk_asks_the_table_once_for_hundreds_of_folders(database: Database) -> None:
    """A start looks at everything: a statement for each of 10,000 folders was a tenth of it."""
    table = StatTable(database)
    table.clear()
    every = list(walk(b"", 4))
    for folder in every:
        table.put(folder, [(b"file", row(1))])
    ahead = table.ahead(b"")
    assert questions(database, map(ahead.rows, every)) <= 2 * (len(every) // AT_ONCE + 1)
    assert all(table.ahead(folder).rows(folder) for folder in every)


def test_a_look_at_one_folder_reads_nothing_beside_it(database: Database) -> None:
    """What appears somewhere in a large workspace costs what is in it."""
    table = StatTable(database)
    table.clear()
    for folder in walk(b"", 3):
        table.put(folder, [(b"file", row(1))])
    ahead = table.ahead(b"a-")
    ahead.rows(b"a-")
    assert {key[1:3] for key in ahead._bundles} == {b"a-"}
