"""A file that a restore has just put in place is known, and is read only where somebody may have written to it."""

import os
import time
from pathlib import Path

import pytest

from backtraild import ticks
from backtraild.model import Limits, Placed
from backtraild.scan import capture, taking
from backtraild.ticks import TICK_NS
from support.look import Looker
from support.project import Project

HOUR = 3_600_000_000_000
CONTENT = b"from the store"


@pytest.fixture
def looker(looker: Looker) -> Looker:
    (looker.root / "file").write_bytes(CONTENT)
    return looker


def placed(looker: Looker, *, age: int = 2 * TICK_NS) -> Placed:
    """As if the file had been written so long before it was moved to where it is."""
    status = (looker.root / "file").stat()
    moved = status.st_mtime_ns + age
    oid = looker.sink.add_blob(CONTENT)
    return Placed(oid, status.st_ino, status.st_size, status.st_mtime_ns, moved, status.st_ctime_ns + age)


def look(looker: Looker, known: Placed, limits: Limits | None = None) -> None:
    looker.look(time.time_ns() + HOUR, [b"file"], limits, {b"file": known})


def test_a_file_that_was_just_put_there_is_not_read(looker: Looker, opened: list[bytes]):
    """Ten thousand files that come out of the store need not be hashed to know what they are."""
    look(looker, placed(looker))
    assert opened == []
    assert looker.content(b"file") == CONTENT


def test_one_that_was_written_to_in_the_very_tick_of_the_move_is_found_by_the_next_look(
    looker: Looker, opened: list[bytes]
):
    """Of the same size and dated back, it looks just as it was put there: only its content tells."""
    known = placed(looker)
    other = CONTENT[::-1]
    (looker.root / "file").write_bytes(other)
    os.utime(looker.root / "file", ns=(known.mtime_ns, known.mtime_ns))
    look(looker, known._replace(moved_before=(looker.root / "file").stat().st_ctime_ns))
    looker.look(time.time_ns() + HOUR)
    assert looker.content(b"file") == other
    looker.look(time.time_ns() + HOUR)  # and from then on it is one like any other
    assert opened == [b"file"]


def test_one_that_was_written_to_since_is_read(looker: Looker, opened: list[bytes]):
    """An editor saves in the moment after the restore: its content is what counts."""
    known = placed(looker)
    (looker.root / "file").write_bytes(b"from the editor")
    look(looker, known)
    assert looker.content(b"file") == b"from the editor"


def test_one_that_was_written_to_and_dated_back_is_read(looker: Looker, opened: list[bytes]):
    """Some tools keep a file's time when they change it, but nobody sets the time of the change itself."""
    known = placed(looker)._replace(moved_before=(looker.root / "file").stat().st_ctime_ns - 1)
    look(looker, known)
    assert opened == [b"file"]


def test_one_that_was_written_within_a_tick_of_the_move_is_read(looker: Looker, opened: list[bytes]):
    """A change in the same tick would not show in its time."""
    look(looker, placed(looker, age=TICK_NS))
    assert opened == [b"file"]


def test_one_that_the_store_has_no_more_is_read(looker: Looker, opened: list[bytes]):
    """What a checkpoint names, it holds."""
    known = placed(looker)
    looker.sink.clear()
    look(looker, known)
    assert opened == [b"file"]
    assert looker.content(b"file") == CONTENT


def test_one_above_the_limit_is_left_out_as_any_other(looker: Looker):
    """The owner made the limit smaller since."""
    look(looker, placed(looker), Limits(max_file_size=3))
    assert looker.table.get(b"file") is None


def test_a_restore_does_not_read_what_it_wrote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Nor does it store it again: the checkpoint after it names what the store has."""
    read: list[bytes] = []

    def count(name, *arguments):
        read.append(name)
        return capture.capture(name, *arguments)

    with Project(tmp_path) as project:
        for number in range(20):
            project.write(f"{number // 5}/{number}", b"%d\n" % number)
        project.workspace.start()
        for number in range(20):
            project.write(f"{number // 5}/{number}", b"%d changed\n" % number)
        project.save()
        monkeypatch.setattr(taking, "capture", count)
        monkeypatch.setattr(ticks, "TICK_NS", 0)  # so that nothing depends on how long staging takes
        result = project.workspace.restore("1", dirty=())
        assert len(result.written) == 20
        assert read == []
        project.check(project.workspace.history.find("@"))
