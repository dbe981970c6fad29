"""What is read again and what is not: lstat against the stat table, and git's racy-timestamp rule."""

import os
import time
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo
from backtraild.model import Limits
from backtraild.scan import capture
from backtraild.ticks import COARSE_TICK_NS, TICK_NS
from support.look import Looker
from support.project import Project

HOUR = 3_600_000_000_000
OLD = 1_500_000_000_123_456_789


def later() -> int:
    """A time at which everything written so far has settled."""
    return time.time_ns() + HOUR


def changed_at(path: Path) -> int:
    status = path.lstat()
    return max(status.st_mtime_ns, status.st_ctime_ns)


def test_files_that_have_not_changed_are_not_opened_again(looker: Looker, opened: list[bytes]):
    """A look at a hundred thousand unchanged files must cost an lstat each and not a read."""
    for number in range(20):
        (looker.root / f"{number}.txt").write_bytes(b"%d" % number)
    (looker.root / "link").symlink_to("0.txt")

    looker.look(later())
    assert len(opened) == 20
    opened.clear()

    assert not looker.look(later()).changes
    assert opened == []


def test_a_touched_file_is_read_once_and_makes_no_change(looker: Looker, opened: list[bytes]):
    """`touch`, a checkout back and forth, a build that writes what was there: not news, and not for ever."""
    path = looker.root / "file"
    path.write_bytes(b"same")
    looker.look(later())
    opened.clear()

    path.write_bytes(b"same")
    assert not looker.look(later()).changes
    assert opened == [b"file"]

    assert not looker.look(later()).changes
    assert opened == [b"file"]


def test_a_touched_file_makes_no_checkpoint(tmp_path: Path):
    """An empty checkpoint for every touch would bury the real ones."""
    with Project(tmp_path) as project:
        path = project.write("file", b"same")
        project.workspace.start()
        os.utime(path)
        with pytest.raises(NothingToDo):
            project.save()
        with pytest.raises(NothingToDo):
            project.save(dirty=[b"file"])
        assert project.workspace.history.find("@").number == 1


def test_a_file_captured_in_the_tick_of_its_last_change_is_read_again(looker: Looker, opened: list[bytes]):
    """It may have been written to once more in that tick: same size, same times, other content."""
    path = looker.root / "file"
    path.write_bytes(b"one")
    written = changed_at(path)

    looker.look(written + TICK_NS)
    opened.clear()
    looker.look(later())  # reads it again, and now it has settled
    assert opened == [b"file"]
    looker.look(later())
    assert opened == [b"file"]


def test_a_file_captured_after_the_tick_is_not_read_again(looker: Looker, opened: list[bytes]):
    """The other side of the border: one nanosecond more and the file has settled."""
    path = looker.root / "file"
    path.write_bytes(b"one")
    looker.look(changed_at(path) + max(TICK_NS, COARSE_TICK_NS) + 1)
    opened.clear()

    looker.look(later())

    assert opened == []


@pytest.mark.parametrize("settled", [False, True])
def test_a_file_system_that_counts_seconds_has_a_longer_tick(settled: bool):
    """On FAT a file can change unseen for two seconds; whole seconds are how such a disk is known."""
    whole = 1_700_000_000 * 10**9
    status = os.stat_result(
        (0o100644, 7, 1, 1, 0, 0, 3, 0, 0, 0),
        {"st_mtime_ns": whole, "st_ctime_ns": whole, "st_atime_ns": 0},
    )
    started = whole + COARSE_TICK_NS + settled
    row = capture._read_row(status, b"\1" * 20, started, started)
    assert (row.ctime_ns == whole) is settled


def test_a_rewrite_in_the_same_tick_is_found_at_the_next_look(
    looker: Looker, monkeypatch: pytest.MonkeyPatch
):
    """The very case the rule is for: nothing that lstat shows tells the two contents apart."""
    path = looker.root / "file"
    path.write_bytes(b"one")
    looker.look(changed_at(path))
    row = looker.table.get(b"file")
    assert row is not None
    path.write_bytes(b"two")
    # The disk now shows the new content with the old times: make the row say so, as a coarse clock would.
    status = path.lstat()
    looker.table.put(b"", [(b"file", row._replace(mtime_ns=status.st_mtime_ns, inode=status.st_ino, size=3))])

    result = looker.look(later())

    assert looker.content(b"file") == b"two"
    assert list(result.changes) == [b"file"]


def test_a_change_with_the_same_size_and_a_restored_time_is_noticed(looker: Looker, opened: list[bytes]):
    """Some tools put the old time back after an edit; nobody can put the change time back."""
    path = looker.root / "file"
    path.write_bytes(b"one")
    os.utime(path, ns=(OLD, OLD))
    looker.look(later())
    opened.clear()

    with path.open("r+b") as file:
        file.write(b"two")
    os.utime(path, ns=(OLD, OLD))
    looker.look(later())

    assert opened == [b"file"]
    assert looker.content(b"file") == b"two"


def test_another_file_renamed_over_the_first_is_noticed(looker: Looker):
    """Editors save by renaming; size and times may be equal, the inode is not."""
    path, other = looker.root / "file", looker.root / "other"
    for target, content in ((path, b"one"), (other, b"two")):
        target.write_bytes(content)
        os.utime(target, ns=(OLD, OLD))
    looker.look(later())
    os.rename(other, path)
    row = looker.table.get(b"file")
    assert row is not None
    # A rename changes the change time as well, but only by a tick: let both have happened in the same one.
    looker.table.put(b"", [(b"file", row._replace(ctime_ns=path.lstat().st_ctime_ns))])

    result = looker.look(later())

    assert looker.content(b"file") == b"two"
    assert set(result.changes) == {b"file", b"other"}


def test_the_executable_bit_alone_is_a_change(looker: Looker):
    """`chmod +x` is work too."""
    path = looker.root / "run.sh"
    path.write_bytes(b"#!/bin/sh\n")
    path.chmod(0o644)
    looker.look(later())
    path.chmod(0o755)

    change = looker.look(later()).changes[b"run.sh"]

    assert change.old is not None
    assert change.new is not None
    assert (change.old.mode, change.new.mode) == (0o100644, 0o100755)
    path.chmod(0o744)  # git knows one bit; the others are no change
    assert not looker.look(later()).changes


def test_a_file_looked_at_twice_in_one_scan_is_one_change(looker: Looker, monkeypatch: pytest.MonkeyPatch):
    """Hints overlap. If the file changes between two looks, the change is from the checkpoint to the end."""
    path = looker.root / "file"
    path.write_bytes(b"old")
    old = looker.look(later()).changes[b"file"].new
    path.write_bytes(b"middle")
    looks = 0

    def read_and_change(*arguments):
        nonlocal looks
        found = capture.capture(*arguments)
        looks += 1
        if looks == 1:
            path.write_bytes(b"newest")
        return found

    monkeypatch.setattr("backtraild.scan.taking.capture", read_and_change)
    # Both paths end at `file`, which was a folder when they were noted.
    change = looker.look(later(), [b"file/one/x", b"file/two/x"]).changes[b"file"]

    assert looks == 2
    assert change.old == old
    assert change.new is not None
    assert looker.sink[change.new.oid] == b"newest"


def test_a_file_that_is_gone_at_one_look_and_back_at_the_next_has_not_changed(
    looker: Looker, monkeypatch: pytest.MonkeyPatch
):
    """Git replaces files by unlinking them first: gone and back within one scan is as it was before."""
    path = looker.root / "file"
    path.write_bytes(b"same")
    looker.look(later())
    path.unlink()
    forget = looker.table.remove

    def forget_and_bring_back(*arguments):
        forget(*arguments)
        path.write_bytes(b"same")

    monkeypatch.setattr(looker.table, "remove", forget_and_bring_back)
    result = looker.look(later(), [b"file/one/x", b"file/two/x"])

    assert result.changes == {}
    assert looker.content(b"file") == b"same"


def test_the_number_of_files_is_kept_without_counting_them(tmp_path: Path):
    """`status` and every restore ask for it; it has to be right after whatever happened."""
    with Project(tmp_path, Limits(max_file_size=100)) as project:
        for number in range(10):
            project.write(f"a/{number}")
        project.workspace.start()
        project.write("a/new")
        (project.root / "a" / "3").unlink()
        project.write("a/4", bytes(200))
        os.rename(project.root / "a" / "5", project.root / "b")
        project.save()
        assert project.workspace.totals()[0] == len(project.captured()) == 9
        project.workspace.restore("1")
        assert project.workspace.totals()[0] == len(project.captured()) == 9
        project.workspace.undo()
        project.workspace.delete("@")
        project.save(allow_empty=True)
        assert project.workspace.totals()[0] == len(project.captured()) == 9
        (project.store / "state.db").unlink()
        project.reopen()
        assert project.workspace.totals()[0] == len(project.captured()) == 9
