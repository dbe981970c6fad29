"""Git and the table beside it: whatever happens to the table, git is the truth and nothing is missed."""

import contextlib
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from backtrail.errors import NothingToDo, StoreFailed
from backtraild.model import Kind
from backtraild.state import Query
from support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        for number in range(300):
            project.write(f"folder/{number % 7}/{number}", f"{number}\n")
        project.workspace.start()
        project.write("folder/1/1", b"second\n")
        project.save()
        project.workspace.settle()
        yield project


def listed(project: Project) -> list[int]:
    return [checkpoint.number for checkpoint in project.workspace.history.list(Query()).checkpoints]


def edit(project: Project) -> set[bytes]:
    """One file changed, one added, one deleted."""
    project.write("folder/2/2", b"edited\n")
    project.write("folder/new", b"new\n")
    (project.root / "folder/3/3").unlink()
    return {b"folder/2/2", b"folder/new", b"folder/3/3"}


def finds_exactly(project: Project, changed: set[bytes], numbers: list[int]) -> None:
    """The next save holds these changes and no others, and everything is in its place."""
    checkpoint = project.save()
    assert {change.path for change in checkpoint.files_changed} == changed
    project.check(checkpoint)
    assert listed(project) == [checkpoint.number, *numbers]
    assert project.workspace.totals()[0] == len(project.captured())
    with pytest.raises(NothingToDo):
        project.save()


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: path.unlink(),
    "empty": lambda path: os.truncate(path, 0),
    "only the header": lambda path: os.truncate(path, 100),
    "half": lambda path: os.truncate(path, path.stat().st_size // 2),
    "without its end": lambda path: os.truncate(path, path.stat().st_size - 1000),
    "no database": lambda path: path.write_bytes(b"garbage" * 1000),
    "of another version": lambda path: change_version(path),
    "one bit of each name flipped": lambda path: flip_names(path),
}


def change_version(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()


def flip_names(path: Path) -> None:
    """The last byte of a bundle is the last one of a name."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for number, bundle in connection.execute("SELECT id, bundle FROM files").fetchall():
            flipped = bundle[:-1] + bytes([bundle[-1] ^ 1])
            connection.execute("UPDATE files SET bundle = ? WHERE id = ?", (flipped, number))


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_lost_or_damaged_table_costs_time_and_nothing_else(project: Project, damage: str):
    """A power cut, a full disk, a curious user: the files are in git, and the changes are on disk."""
    project.workspace.close()
    changed = edit(project)
    DAMAGES[damage](project.store / "state.db")

    project.reopen()

    assert listed(project) == [2, 1]
    finds_exactly(project, changed, [2, 1])


@pytest.mark.parametrize("page", range(1, 15))
def test_a_damaged_page_of_the_table_fails_no_request(project: Project, page: int):
    """Nobody should have to delete a file by hand because of a bad sector in what can be made again."""
    project.workspace.close()
    changed = edit(project)
    with (project.store / "state.db").open("r+b") as file:
        file.seek(page * 4096)
        file.write(random.Random(page).randbytes(4096))
    project.reopen()
    checkpoint = project.save()

    assert {change.path for change in checkpoint.files_changed} == changed
    project.check(checkpoint)
    assert listed(project) == [3, 2, 1]
    with pytest.raises(NothingToDo):
        project.save()


@pytest.mark.parametrize("behind", [1, 2])
def test_an_older_table_is_brought_up_to_date(project: Project, behind: int):
    """Without an fsync a transaction, a power cut takes the table back to an earlier moment, git not."""
    copy = project.folder / "old.db"
    project.workspace.close()
    shutil.copy(project.store / "state.db", copy)
    project.reopen()
    project.write("folder/4/4", b"fourth\n")
    (project.root / "folder/5/5").unlink()
    project.save()
    if behind == 2:
        project.write("folder/4/4", b"4\n")  # as in the older table, but not as in the checkpoint between
        project.write("folder/5/5", b"back\n")
        project.save()
    numbers = listed(project)
    project.workspace.close()
    shutil.copy(copy, project.store / "state.db")

    project.reopen()

    assert listed(project) == numbers
    with pytest.raises(NothingToDo):
        project.save()
    finds_exactly(project, edit(project), numbers)


class Failing:
    """A connection on which one statement fails, as on a full disk; always, or only when it is time."""

    def __init__(
        self, connection: sqlite3.Connection, statement: str, when: Callable[[], bool] = lambda: True
    ) -> None:
        self._connection = connection
        self._statement = statement
        self._when = when

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        if statement == self._statement and self._when():
            raise sqlite3.OperationalError("database or disk is full")
        return self._connection.execute(statement, *arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@pytest.mark.parametrize("reopened", [False, True])
@pytest.mark.parametrize("empty", [False, True])
def test_a_checkpoint_whose_table_could_not_be_written_is_a_checkpoint(
    project: Project, monkeypatch: pytest.MonkeyPatch, reopened: bool, empty: bool
):
    """It is durable in git, so it is acknowledged, listed at once, and not made a second time."""
    database = project.workspace._parts.database
    if not empty:
        edit(project)
    with monkeypatch.context() as patch:
        patch.setattr(database, "connection", Failing(database.connection, "COMMIT"))
        checkpoint = project.save("third", allow_empty=empty)
    if reopened:
        project.reopen()

    assert listed(project) == [3, 2, 1]
    assert project.workspace.history.find("3").id == checkpoint.id
    project.check(checkpoint)
    with pytest.raises(NothingToDo):
        project.save()
    project.write("folder/6/6", b"later\n")
    finds_exactly(project, {b"folder/6/6"}, [3, 2, 1])


def test_a_restore_whose_table_could_not_be_written_is_the_one_that_undo_undoes(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """To undo an older restore instead would bring back the wrong state."""
    project.workspace.restore("1")
    project.workspace.restore("2")
    edit(project)
    project.save("edited")
    database, store = project.workspace._parts.database, project.workspace._parts.store
    last = store.newest

    def restored() -> bool:
        return store.newest != last and store.get(store.newest).kind is Kind.RESTORE

    with monkeypatch.context() as patch:
        patch.setattr(database, "connection", Failing(database.connection, "COMMIT", restored))
        project.workspace.restore("2")
    assert restored()

    result = project.workspace.undo()

    assert result.result is not None
    assert result.result.tree == project.workspace.history.find("@").tree
    assert (project.root / "folder/new").read_bytes() == b"new\n"


def test_a_delete_whose_table_could_not_be_written_does_not_break_the_list(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """One checkpoint that is gone must not hide the others."""
    database = project.workspace._parts.database
    with monkeypatch.context() as patch:
        patch.setattr(database, "connection", Failing(database.connection, "COMMIT"))
        try:
            project.workspace.delete("2")
        except StoreFailed:
            kept = project.workspace._parts.store.has(2)
        else:
            kept = False

    assert listed(project) == ([2, 1] if kept else [1])
    project.reopen()
    assert listed(project) == ([2, 1] if kept else [1])


@pytest.mark.parametrize("statement", ["BEGIN", "INSERT OR REPLACE INTO facts VALUES (?, ?)"])
def test_a_table_that_fails_before_the_checkpoint_is_made_fails_the_save_or_not_at_all(
    project: Project, monkeypatch: pytest.MonkeyPatch, statement: str
):
    """Either there is a checkpoint and it is returned, or there is an error and no checkpoint."""
    changed = edit(project)
    database = project.workspace._parts.database
    with monkeypatch.context() as patch:
        patch.setattr(database, "connection", Failing(database.connection, statement))
        try:
            numbers = [project.save().number, 2, 1]
        except StoreFailed:
            numbers = [2, 1]

    assert listed(project) == numbers
    project.reopen()
    assert listed(project) == numbers
    if numbers == [2, 1]:
        finds_exactly(project, changed, [2, 1])
    else:
        with pytest.raises(NothingToDo):
            project.save()


_KILLED = """
import os, sys
from backtraild.model import Intent
from backtraild.state import Database
from backtraild.workspace import Workspace

class Killed:
    def __init__(self, connection):
        self.connection = connection
    def execute(self, statement, *arguments):
        if statement == "COMMIT":
            os._exit(9)
        return self.connection.execute(statement, *arguments)
    def __getattr__(self, name):
        return getattr(self.connection, name)

workspace = Workspace(sys.argv[1], sys.argv[2])
database = workspace._parts.database
database.connection = Killed(database.connection)
workspace.save(Intent(message="third"))
"""


def test_a_kill_between_git_and_the_table_is_noticed_at_the_next_start(project: Project):
    """The reference is durable and the table is not: the checkpoint exists and is not made again."""
    project.workspace.close()
    edit(project)
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, str(project.root), str(project.store)], capture_output=True
    )
    assert done.returncode == 9, done.stderr

    project.reopen()

    assert listed(project) == [3, 2, 1]
    project.check(project.workspace.history.find("3"))
    with pytest.raises(NothingToDo):
        project.save()
    project.write("folder/6/6", b"later\n")
    finds_exactly(project, {b"folder/6/6"}, [3, 2, 1])


def test_a_store_that_is_gone_while_the_table_is_left_begins_anew(project: Project):
    """The table says that all files are captured; it must not be believed."""
    project.workspace.close()
    shutil.rmtree(project.git_dir)

    project.reopen()

    assert listed(project) == []
    checkpoint = project.workspace.start()
    assert checkpoint.files_changed_count == 300
    project.check(checkpoint)


def test_checkpoints_that_the_table_does_not_know_yet_are_found_by_whoever_asks(project: Project):
    """A save does not wait for the table; what is asked right after it must be right all the same."""
    edit(project)
    made = project.save("third", request="asked once")
    index = project.workspace._parts.index
    assert made.number not in index.numbers(), "it has waited"

    assert listed(project) == [3, 2, 1]
    assert made.number in index.numbers()
    project.write("folder/6/6", b"later\n")
    fourth = project.save("fourth", request="asked again")
    assert project.workspace.made_for("asked again") == fourth
    project.write("folder/6/6", b"and later\n")
    project.save("fifth")
    assert [
        version.checkpoint.number for version in project.workspace.log(b"folder/6/6", 2, None).versions
    ] == [5, 4]


def test_a_checkpoint_that_is_deleted_before_the_table_knew_it_stays_deleted(project: Project):
    """Its row would otherwise be written after it was removed, and lead to nothing."""
    edit(project)
    made = project.save("third")
    project.workspace.delete(str(made.number))
    project.workspace.settle()
    assert made.number not in project.workspace._parts.index.numbers()
    assert listed(project) == [2, 1]


def test_a_kill_before_the_table_knew_of_a_checkpoint_costs_nothing(project: Project):
    """The next start finds it in git."""
    edit(project)
    made = project.save("third")
    project.workspace._catalogue._unlisted.clear()  # as a kill does
    project.reopen()
    assert listed(project) == [3, 2, 1]
    assert project.workspace.history.find("@").id == made.id
