"""What must go on working when something small is wrong."""

from pathlib import Path

import pytest

from backtrail.errors import NothingToDo
from backtraild.model import Intent, Kind
from backtraild.state import Query
from backtraild.workspace import Workspace
from support import damage


@pytest.fixture
def workspace(tmp_path: Path):
    (tmp_path / "work" / "src").mkdir(parents=True)
    (tmp_path / "work" / "src" / "a").write_text("1")
    (tmp_path / "work" / "src" / "b").write_text("1")
    opened = Workspace(str(tmp_path / "work"), str(tmp_path / "store"))
    opened.start()
    yield opened
    opened.close()


def test_a_damaged_newest_checkpoint_does_not_lock_the_others_away(workspace: Workspace, tmp_path: Path):
    """One bad sector must not cost more than the checkpoint it hit."""
    packs = tmp_path / "store" / "repo.git" / "objects" / "pack"
    before = set(packs.glob("*.pack"))
    (tmp_path / "work" / "src" / "a").write_text("2")
    workspace.save(Intent())
    workspace.close()
    (newest,) = set(packs.glob("*.pack")) - before
    damage.put(str(newest), newest.read_bytes()[:-40])  # a commit is the last object of its pack

    again = Workspace(str(tmp_path / "work"), str(tmp_path / "store"))
    assert [checkpoint.number for checkpoint in again.history.list(Query()).checkpoints] == [1]
    saved = again.save(Intent())
    assert saved.number == 3
    assert [change.path for change in saved.files_changed] == [b"src/a"]
    again.restore("1")
    assert (tmp_path / "work" / "src" / "a").read_text() == "1"
    again.close()


def test_a_file_named_along_with_its_folder_counts_once(workspace: Workspace):
    """The number of unchanged files tells whether the paths were what one meant."""
    once = workspace.preview("1", [b"src"])
    twice = workspace.preview("1", [b"src", b"src/b", b"src"])
    assert once.unchanged == twice.unchanged == 2


def test_starting_again_takes_no_second_baseline(workspace: Workspace):
    """`watch` on a folder that is known must not fill its history."""
    assert workspace.start().number == 1
    assert workspace.history.newest() == 1


def test_a_checkpoint_that_only_calls_itself_a_restore_cannot_be_undone(workspace: Workspace):
    """There is no state before it to go back to."""
    workspace.save(Intent(Kind.RESTORE, "not by Backtrail"), allow_empty=True)
    with pytest.raises(NothingToDo):
        workspace.undo()
