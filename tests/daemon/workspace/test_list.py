"""Lists of checkpoints: the right ones, newest first, each once, over any number of pages."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from backtrail.errors import UsageError
from backtraild.model import Checkpoint, Kind
from backtraild.state import Query
from backtraild.store import LISTED_CHANGES
from support.git import git
from support.project import Project

WIDE = LISTED_CHANGES + 50


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        yield project


def numbers(project: Project, **wanted: object) -> list[int]:
    """All that a query finds, in one page."""
    page = project.workspace.history.list(Query(**wanted))  # type: ignore[arg-type]
    assert page.next is None
    return [checkpoint.number for checkpoint in page.checkpoints]


def pages(project: Project, query: Query) -> list[list[int]]:
    """The same, page after page."""
    found, before = [], None
    while True:
        page = project.workspace.history.list(replace(query, before=before))
        found.append([checkpoint.number for checkpoint in page.checkpoints])
        if page.next is None:
            return found
        before = page.next


def paged(project: Project, query: Query) -> list[int]:
    return [number for page in pages(project, query) for number in page]


def some(project: Project) -> list[Checkpoint]:
    """A history with several kinds, sessions and paths."""
    made = [project.workspace.start()]
    for number in range(2, 12):
        project.write(f"src/{number % 3}.txt", f"{number}\n")
        kind = Kind.AGENT if number % 2 else Kind.AUTO
        made.append(project.save(kind=kind, session=f"s{number % 4}", turn=number))
    return made


def test_a_list_is_newest_first_and_complete(project: Project):
    """The checkpoint somebody looks for is nearly always one of the last."""
    made = some(project)

    page = project.workspace.history.list(Query())

    assert page.checkpoints == tuple(reversed(made))
    assert page.next is None


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 10, 11, 12])
def test_pages_lose_nothing_and_show_nothing_twice(project: Project, limit: int):
    """Paging that skips one hides a checkpoint; a last page that promises more sends people in circles."""
    some(project)

    found = pages(project, Query(limit=limit))

    assert paged(project, Query(limit=limit)) == list(range(11, 0, -1))
    assert all(len(page) == limit for page in found[:-1])
    assert found[-1]


def test_a_checkpoint_made_or_deleted_between_two_pages_does_not_shift_them(project: Project):
    """The cursor is a number and not an offset."""
    some(project)
    first = project.workspace.history.list(Query(limit=4))
    project.write("src/new")
    project.save()
    project.workspace.delete("9")

    second = project.workspace.history.list(Query(limit=4, before=first.next))

    assert [checkpoint.number for checkpoint in second.checkpoints] == [7, 6, 5, 4]


def test_kind_session_and_time_narrow_the_list(project: Project):
    """`list --session s1 --since …` is how one finds what an agent did this morning."""
    made = some(project)

    assert numbers(project, kind=Kind.BASELINE) == [1]
    assert numbers(project, kind=Kind.AGENT) == [11, 9, 7, 5, 3]
    assert numbers(project, session="s1") == [9, 5]
    assert numbers(project, session="s1", kind=Kind.AUTO) == []
    assert numbers(project, session="nobody") == []
    moment = made[4].timestamp
    tick = timedelta(microseconds=1)
    assert numbers(project, since=moment) == list(range(11, 4, -1))
    assert numbers(project, until=moment) == list(range(5, 0, -1))
    assert numbers(project, since=moment + tick) == list(range(11, 5, -1))
    assert numbers(project, until=moment - tick) == list(range(4, 0, -1))
    assert numbers(project, since=moment, until=moment) == [5]


def test_a_path_finds_what_changed_it_or_something_below_it(project: Project):
    """`list FILE` is the history of a file, and `list FOLDER` that of everything in it."""
    project.write("src/app.py", b"one\n" * 20)
    project.write("src.bak/app.py")
    project.workspace.start()
    project.write("src/app.py", b"two\n" * 20)
    project.save()
    project.write("src.bak/app.py", b"other")
    project.save()
    (project.root / "src/app.py").rename(project.root / "main.py")
    project.save()
    (project.root / "main.py").unlink()
    project.save()

    assert numbers(project, path=b"src/app.py") == [4, 2, 1]  # under its old name too
    assert numbers(project, path=b"main.py") == [5, 4]
    assert numbers(project, path=b"src") == [4, 2, 1]
    assert numbers(project, path=b"src.bak") == [3, 1]
    assert numbers(project, path=b"sr") == []
    assert numbers(project, path=b"") == [5, 4, 3, 2, 1]


@pytest.fixture
def wide(project: Project) -> Project:
    """A history in which checkpoints 1 and 4 change too many files to be listed in the index."""
    for number in range(WIDE):
        project.write(f"many/{number}", f"{number}\n")
    project.write("one/a", b"a")
    project.write("one/b", b"b")
    project.workspace.start()
    project.write("one/a", b"a2")
    project.save()
    project.write("one/b", b"b2")
    project.save()
    for number in range(WIDE):
        project.write(f"many/{number}", f"changed {number}\n")
    project.write("one/a", b"a3")
    project.save()
    project.write("many/7", b"again")
    project.save()
    return project


def test_a_checkpoint_with_very_many_changes_is_found_by_the_paths_it_changed_and_no_others(wide: Project):
    """The index only says “maybe” about it; the trees know."""
    assert numbers(wide, path=b"one/a") == [4, 2, 1]
    assert numbers(wide, path=b"one/b") == [3, 1]
    assert numbers(wide, path=b"one") == [4, 3, 2, 1]
    assert numbers(wide, path=b"many/7") == [5, 4, 1]
    assert numbers(wide, path=b"never") == []
    for limit in (1, 2, 3):
        assert paged(wide, Query(limit=limit, path=b"one/b")) == [3, 1]
        assert paged(wide, Query(limit=limit, path=b"one/a")) == [4, 2, 1]


def test_a_long_list_of_changes_is_completed_for_the_one_checkpoint_that_is_asked_for(wide: Project):
    """`list` stays quick, `show` tells everything."""
    listed = wide.workspace.history.list(Query()).checkpoints[1]
    shown = wide.workspace.history.get("4")

    assert listed.files_changed_count == WIDE + 1
    assert len(listed.files_changed) == LISTED_CHANGES
    assert not listed.files_changed_complete
    assert shown.files_changed_complete
    assert {change.path for change in shown.files_changed} == {
        b"one/a",
        *(b"many/%d" % number for number in range(WIDE)),
    }
    assert shown.files_changed[:LISTED_CHANGES] == listed.files_changed
    assert len(wide.workspace.history.get("1").files_changed) == WIDE + 2


def test_a_long_list_is_still_shown_when_the_checkpoint_before_it_is_gone_from_the_disk(wide: Project):
    """Retention deletes and git packs: what can't be told any more must not make the list fail."""
    for number in ("2", "3"):
        wide.workspace.delete(number)
    git("gc", "-q", "--prune=now", git_dir=wide.git_dir)
    wide.reopen()

    assert not wide.workspace.history.get("4").files_changed_complete
    assert numbers(wide) == [5, 4, 1]
    # Nobody can say whether checkpoint 4 changed this file: it is shown rather than lost.
    assert numbers(wide, path=b"one/b") == [4, 1]


def test_a_limit_that_makes_no_sense_is_refused(project: Project):
    """Zero checkpoints a page is a page without an end."""
    some(project)
    for limit in (0, -1):
        with pytest.raises(UsageError):
            project.workspace.history.list(Query(limit=limit))


def test_a_damaged_checkpoint_does_not_hide_the_others(project: Project):
    """What is listed can be restored; one that can't be read is left out, by a list as by a new index."""
    some(project)
    (project.git_dir / "refs" / "checkpoints" / "6").write_text("0" * 40 + "\n")

    expected = [11, 10, 9, 8, 7, 5, 4, 3, 2, 1]
    assert numbers(project) == expected
    assert paged(project, Query(limit=3)) == expected
    project.workspace.close()
    (project.store / "state.db").unlink()
    project.reopen()
    assert numbers(project) == expected


def test_a_deleted_checkpoint_is_in_no_list(project: Project):
    """What is listed can be restored."""
    some(project)
    project.workspace.delete("11")
    project.workspace.delete("4")

    assert numbers(project) == [10, 9, 8, 7, 6, 5, 3, 2, 1]
    assert 4 not in numbers(project, path=b"src")
    project.reopen()
    assert numbers(project) == [10, 9, 8, 7, 6, 5, 3, 2, 1]
