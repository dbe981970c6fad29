"""Finding checkpoints without opening them."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from backtraild.model import Checkpoint, FileChange, Kind, Status
from backtraild.state import Database, Index, Query

NOON = datetime(2024, 5, 6, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    opened = Database(str(tmp_path / "state.db"))
    yield Index(opened)
    opened.close()


def checkpoint(number: int, *paths: bytes, **fields: Any) -> Checkpoint:
    """Made `number` minutes after noon."""
    files = tuple(FileChange(path, Status.MODIFIED, 1) for path in paths)
    values: dict[str, Any] = {
        "number": number,
        "id": f"{number:040x}",
        "tree": "ab" * 20,
        "kind": Kind.AUTO,
        "message": "",
        "timestamp": NOON + timedelta(minutes=number),
        "files_changed": files,
        "files_changed_count": len(files),
        "insertions": 0,
        "deletions": 0,
    }
    return Checkpoint(**{**values, **fields})


def numbers(index: Index, **wanted: Any) -> list[int]:
    return [number for number, _ in index.select(Query(**wanted))]


@pytest.fixture
def filled(index: Index) -> Index:
    for number in range(1, 11):
        kind = Kind.MANUAL if number % 3 == 0 else Kind.AUTO
        session = "tea" if number in (2, 3, 4) else None
        index.add(checkpoint(number, b"f%d" % number, kind=kind, session=session))
    return index


def test_the_newest_come_first_and_pages_join_without_a_gap(filled: Index) -> None:
    """`list` shows a page; `before` the last number of it gives the next one."""
    assert numbers(filled) == list(range(10, 0, -1))
    assert numbers(filled, limit=3) == [10, 9, 8]
    assert numbers(filled, limit=3, before=8) == [7, 6, 5]
    assert numbers(filled, before=1) == []
    assert numbers(filled, limit=0) == []


def test_times_are_borders_that_belong_to_the_range(filled: Index) -> None:
    """What was made at the very minute asked for is wanted."""
    minute = timedelta(minutes=1)
    assert numbers(filled, since=NOON + 8 * minute) == [10, 9, 8]
    assert numbers(filled, until=NOON + 2 * minute) == [2, 1]
    assert numbers(filled, since=NOON + 4 * minute, until=NOON + 5 * minute) == [5, 4]
    later = timedelta(microseconds=1)
    assert numbers(filled, since=NOON + 8 * minute + later) == [10, 9]
    assert numbers(filled, until=NOON + 2 * minute - later) == [1]


def test_a_time_zone_is_only_a_way_to_write_a_time(filled: Index) -> None:
    """Somebody in Kathmandu asks for the same moment."""
    there = (NOON + timedelta(minutes=9)).astimezone(timezone(timedelta(hours=5, minutes=45)))
    assert numbers(filled, since=there) == [10, 9]
    assert filled.newest_at(there) == 9


def test_kind_and_session_narrow_the_list(filled: Index) -> None:
    """Conditions are joined by and."""
    assert numbers(filled, kind=Kind.MANUAL) == [9, 6, 3]
    assert numbers(filled, session="tea") == [4, 3, 2]
    assert numbers(filled, session="tea", kind=Kind.MANUAL) == [3]
    assert numbers(filled, session="coffee") == []
    assert numbers(filled, kind=Kind.MANUAL, before=9, limit=1) == [6]
    assert numbers(filled, kind=Kind.RESTORE) == []


def test_a_path_is_that_file_or_everything_below_that_folder(index: Index) -> None:
    """`list src` wants the folder's files, not those of `src-old` or `src0`."""
    for number, path in enumerate(
        [b"a", b"a/b", b"a/\xff/c", b"a-b", b"a.b", b"a0", b"ab", b"b/a", b"\xff"], 1
    ):
        index.add(checkpoint(number, path))
    assert numbers(index, path=b"a") == [3, 2, 1]
    assert numbers(index, path=b"a/\xff") == [3]
    assert numbers(index, path=b"b") == [8]
    assert numbers(index, path=b"\xff") == [9]
    assert numbers(index, path=b"") == list(range(9, 0, -1))
    assert numbers(index, path=b"c") == []


def test_a_checkpoint_that_changed_many_files_below_a_path_is_listed_once(index: Index) -> None:
    """A row a file must not become a line a file."""
    index.add(checkpoint(1, b"d/1", b"d/2", b"d/3", b"d"))
    assert numbers(index, path=b"d") == [1]


def test_a_renamed_file_is_found_under_both_names(index: Index) -> None:
    """Its history does not begin with the rename."""
    moved = FileChange(b"new", Status.RENAMED, 1, old_path=b"old")
    index.add(checkpoint(1, files_changed=(moved,), files_changed_count=1))
    assert numbers(index, path=b"new") == numbers(index, path=b"old") == [1]


def test_a_checkpoint_with_a_cut_list_may_have_changed_any_path(index: Index) -> None:
    """It is marked, so that the caller looks into its trees instead of leaving it out."""
    index.add(checkpoint(1, b"a"))
    index.add(checkpoint(2, b"b", files_changed_count=5000))
    assert index.select(Query(path=b"a")) == [(2, False), (1, True)]
    assert index.select(Query(path=b"c")) == [(2, False)]
    assert index.select(Query()) == [(2, True), (1, True)]


def test_the_newest_at_a_time(filled: Index) -> None:
    """`restore --at 12:05` is the state that was there at that moment."""
    assert filled.newest_at(NOON) is None
    assert filled.newest_at(NOON + timedelta(minutes=5)) == 5
    assert filled.newest_at(NOON + timedelta(minutes=5, seconds=59)) == 5
    assert filled.newest_at(NOON + timedelta(days=1)) == 10


def test_ids_are_found_by_their_beginning(index: Index) -> None:
    """People type the first few characters; all that answer are given, so that none is guessed."""
    for number, oid in enumerate(["abc0" * 10, "abcf" * 10, "abd0" * 10, "ffff" * 10], 1):
        index.add(checkpoint(number, id=oid))
    assert index.by_prefix("abc") == [(1, "abc0" * 10), (2, "abcf" * 10)]
    assert [number for number, _ in index.by_prefix("ab")] == [1, 2, 3]
    assert index.by_prefix("ffff" * 10) == [(4, "ffff" * 10)]
    assert [number for number, _ in index.by_prefix("f")] == [4]
    assert index.by_prefix("0") == []


def test_what_is_removed_is_found_by_nothing(filled: Index) -> None:
    """A deleted checkpoint must not be offered again, not by time, path, id or number."""
    filled.remove([10, 4, 99])
    assert filled.numbers() == {1, 2, 3, 5, 6, 7, 8, 9}
    assert numbers(filled, session="tea") == [3, 2]
    assert numbers(filled, path=b"f4") == []
    assert filled.newest_at(NOON + timedelta(minutes=4)) == 3
    assert filled.by_prefix(f"{4:040x}") == []
    assert filled.newest_at(NOON + timedelta(days=1)) == 9
    (rows,) = filled._connection.execute("SELECT COUNT(*) FROM changed_paths").fetchone()
    assert rows == 8, "rows of deleted checkpoints would pile up"


def test_adding_again_changes_nothing(filled: Index) -> None:
    """Start-up may add what is there already."""
    filled.add(checkpoint(5, b"f5"))
    assert numbers(filled) == list(range(10, 0, -1))
    assert numbers(filled, path=b"f5") == [5]


def test_a_request_leads_to_the_checkpoint_that_was_made_for_it(filled: Index) -> None:
    """A repeated save is recognised without opening checkpoints, however many there are."""
    filled.add(checkpoint(11, request="first"))
    filled.add(checkpoint(12, request="second"))
    assert [filled.by_request(name) for name in ("first", "second", "third")] == [11, 12, None]
    filled.remove([11])
    assert filled.by_request("first") is None
    plan = filled._connection.execute(
        "EXPLAIN QUERY PLAN SELECT MIN(number) FROM checkpoints WHERE request = ?", ("second",)
    ).fetchall()
    assert "checkpoints_by_request" in plan[0][3]


def test_that_nothing_was_made_for_a_request_is_known_without_asking(filled: Index) -> None:
    """Every save begins with this question, and nearly always there is nothing."""
    filled.add(checkpoint(11, request="first"))
    again = Index(filled._database)
    assert (again.by_request("first"), again.by_request("second")) == (11, None)
    asked: list[str] = []
    filled._database.connection._connection.set_trace_callback(asked.append)
    assert again.by_request("third") is None
    assert asked == []
    again.add(checkpoint(12, request="third"))
    assert again.by_request("third") == 12
