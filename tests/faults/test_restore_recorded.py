"""A restore and the checkpoint that records it happen together, whenever the daemon dies."""

import errno
import os
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed
from backtraild import restore
from backtraild.model import Intent, Kind
from backtraild.restore import Calls
from backtraild.restore import journal as journal_module
from backtraild.restore.journal import Journal
from backtraild.restore.staging import Staging
from backtraild.restore.transaction import Transaction
from backtraild.state import Query
from backtraild.workspace import Workspace, restorer
from backtraild.workspace.recorder import Recorder
from support.disk import snapshot


@pytest.fixture
def edited(tmp_path: Path) -> Path:
    """A workspace with two checkpoints: `old` and then `new` in one file."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "file").write_text("old")
    workspace = _open(tmp_path)
    workspace.start()
    (tmp_path / "work" / "file").write_text("new")
    workspace.save(Intent())
    workspace.close()
    return tmp_path


def _open(folder: Path) -> Workspace:
    return Workspace(str(folder / "work"), str(folder / "store"))


def _restore_and_die(folder: Path, patch: pytest.MonkeyPatch, owner: object, name: str, dies_at: int) -> None:
    """Restore the baseline in a child that is gone, as by kill -9, at the given call of a function."""
    child = os.fork()
    if child == 0:
        calls = 0
        real = getattr(owner, name)

        def dying(*arguments: object, **named: object) -> object:
            nonlocal calls
            calls += 1
            if calls == dies_at:
                os._exit(9)
            return real(*arguments, **named)

        workspace = _open(folder)
        patch.setattr(owner, name, dying)
        workspace.restore("1", request="r1")
        workspace.settle()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


def test_a_restore_whose_record_was_lost_is_recorded_at_the_next_start(
    edited: Path, monkeypatch: pytest.MonkeyPatch
):
    """Without the record, `undo` would not know that there was a restore."""
    # The saves of a restore: before it, before it again for undo to name, and after it.
    _restore_and_die(edited, monkeypatch, Recorder, "save", dies_at=3)
    assert snapshot(edited / "work")[b"file"] == ("file", b"old")

    workspace = _open(edited)
    last = workspace.history.find("@")
    assert last.kind is Kind.RESTORE
    assert last.metadata["restored"] == 1
    assert last.request == "r1"
    told = workspace.restored_for("r1")
    assert told is not None
    assert (told.written, told.deleted, told.result) == ((b"file",), (), last)
    workspace.undo()
    assert snapshot(edited / "work")[b"file"] == ("file", b"new")
    workspace.close()


def test_a_restore_that_died_half_way_is_not_done_again_by_whoever_asks_again(
    edited: Path, monkeypatch: pytest.MonkeyPatch
):
    """The journal knows under which id it was asked for, and finishing it is the answer."""
    _restore_and_die(edited, monkeypatch, Transaction, "sync", dies_at=1)
    workspace = _open(edited)
    assert workspace.restored_for("r1") is not None
    assert workspace.restored_for("r2") is None
    assert [c.kind for c in workspace.history.list(Query(limit=100)).checkpoints].count(Kind.RESTORE) == 1
    workspace.close()


def test_a_restore_that_died_before_it_began_is_done_when_it_is_asked_for_again(
    edited: Path, monkeypatch: pytest.MonkeyPatch
):
    """Nothing had left staging, so nothing was done: an answer that says otherwise would be a lie."""
    _restore_and_die(edited, monkeypatch, Journal, "mark_staged", dies_at=1)
    workspace = _open(edited)
    assert workspace.restored_for("r1") is None
    workspace.close()


@pytest.mark.parametrize(
    ("owner", "name", "dies_at"),
    [(restorer, "conclude", 1), (Staging, "sync_above", 1), (Journal, "announce", 2)],
    ids=["answered", "tidied up", "the next one not announced"],
)
def test_a_recorded_restore_is_not_repeated_over_later_edits(
    edited: Path, monkeypatch: pytest.MonkeyPatch, owner: object, name: str, dies_at: int
):
    """Only the journal was left behind: taking it for an unfinished restore would overwrite new work."""
    _restore_and_die(edited, monkeypatch, owner, name, dies_at)
    assert restore.pending(str(edited / "store" / "restore.journal")) is not None
    (edited / "work" / "file").write_text("new")  # by chance what it was before the restore

    workspace = _open(edited)
    assert snapshot(edited / "work")[b"file"] == ("file", b"new")
    assert [c.kind for c in workspace.history.list(Query(limit=100)).checkpoints].count(Kind.RESTORE) == 1
    workspace.close()
    assert not (edited / "store" / "restore.journal").exists()


def test_a_restore_on_a_disk_that_is_full_afterwards_stands_in_nobodys_way(
    edited: Path, monkeypatch: pytest.MonkeyPatch
):
    """To end it must not take any room: without that nothing could be deleted to make some."""
    workspace = _open(edited)
    workspace.restore("1")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Calls, "save_journal", staticmethod(full))
        workspace.drop([2])
    assert not (edited / "store" / "restore.journal").exists()
    assert not workspace.undo().conflicts
    workspace.close()


@pytest.mark.parametrize("what", ["save", "drop"])
def test_no_checkpoint_comes_or_goes_before_a_restore_is_concluded(edited: Path, what: str):
    """Whether a restore is recorded is told by the newest checkpoint, as long as there is a journal."""
    workspace, journal = _open(edited), str(edited / "store" / "restore.journal")
    done = workspace.restore("1")
    assert restore.pending(journal) is not None, "nobody waited for that"
    if what == "save":
        workspace.save(Intent(), allow_empty=True)
    else:
        assert done.result is not None
        workspace.drop([done.result.number])
    assert restore.pending(journal) is None
    workspace.close()


@pytest.mark.parametrize("code", [errno.EIO, errno.EMFILE])
def test_a_journal_that_cannot_be_read_now_is_neither_ignored_nor_set_aside(
    edited: Path, monkeypatch: pytest.MonkeyPatch, code: int
):
    """It may be about half a restore: nothing is done before that is known, and the reason is told."""
    _restore_and_die(edited, monkeypatch, Recorder, "save", dies_at=3)
    journal = edited / "store" / "restore.journal"
    content = journal.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(journal_module, "open", fail, raising=False)
        with pytest.raises(StoreFailed, match="Whether a restore was interrupted can't be told"):
            _open(edited)
    assert journal.read_bytes() == content
    workspace = _open(edited)
    assert workspace.history.find("@").kind is Kind.RESTORE
    workspace.close()
