"""Files that are too large, and folders that hold too much."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo, RefusedWorkspace
from backtraild.model import Limits, Skipped, SkipReason
from support.look import Looker
from support.project import Project

LIMIT = 1000
LATER = 2**62  # long after any time stamp


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path, Limits(max_file_size=LIMIT)) as project:
        yield project


def test_a_file_over_the_limit_is_left_out_and_reported_with_its_size(project: Project):
    """A file that silently is in no checkpoint is the complaint; one that is named can be dealt with."""
    project.write("exact.bin", bytes(LIMIT))
    project.write("large.bin", bytes(LIMIT + 1))

    checkpoint = project.workspace.start()

    assert set(project.captured()) == {b"exact.bin"}
    assert checkpoint.skipped == (Skipped(b"large.bin", LIMIT + 1, SkipReason.TOO_LARGE),)
    assert project.workspace.skipped() == list(checkpoint.skipped)
    assert project.workspace.history.find("@").skipped == checkpoint.skipped


@pytest.mark.parametrize("dirty", [None, [b"data.bin"]])
def test_a_file_that_grows_over_the_limit_leaves_the_checkpoints_and_comes_back_when_it_shrinks(
    project: Project, dirty: list[bytes] | None
):
    """A log that is rotated must be captured again, without anybody's help."""
    project.write("data.bin", b"small")
    project.workspace.start()

    project.write("data.bin", bytes(LIMIT + 1))
    grown = project.save(dirty=dirty)
    assert project.captured() == {}
    assert [left.path for left in grown.skipped] == [b"data.bin"]

    project.write("data.bin", b"small again")
    shrunk = project.save(dirty=dirty)
    assert shrunk.skipped == ()
    assert project.workspace.skipped() == []
    project.check(shrunk)


def test_a_new_file_that_is_too_large_is_reported_although_there_is_nothing_to_save(project: Project):
    """No checkpoint is made, but `status` has to know."""
    project.write("small.txt")
    project.workspace.start()
    project.write("large.bin", bytes(LIMIT + 1))

    with pytest.raises(NothingToDo):
        project.save()

    assert [left.path for left in project.workspace.skipped()] == [b"large.bin"]


def test_restore_leaves_a_file_alone_that_was_too_large_to_be_captured(project: Project):
    """What is in no checkpoint can't be had back, so it is never overwritten and never deleted."""
    project.write("data.bin", b"small")
    project.write("other.txt", b"one")
    first = project.workspace.start()
    large = bytes(LIMIT + 1)
    project.write("data.bin", large)
    project.write("other.txt", b"two")

    result = project.workspace.restore(str(first.number))

    assert [conflict.path for conflict in result.conflicts] == [b"data.bin"]
    assert (project.root / "data.bin").read_bytes() == large
    assert (project.root / "other.txt").read_bytes() == b"one"


def test_a_lower_limit_takes_effect_on_files_that_have_not_changed(tmp_path: Path):
    """Whoever lowers the limit wants the large files out, not only the next ones."""
    with Looker(tmp_path) as looker:
        (looker.root / "data.bin").write_bytes(bytes(500))
        (looker.root / "tiny.bin").write_bytes(bytes(5))
        looker.look(LATER)
        assert not looker.look(LATER).changes  # both have settled

        result = looker.look(LATER, limits=Limits(max_file_size=100))

        assert list(result.changes) == [b"data.bin"]
        assert looker.skips.all() == [Skipped(b"data.bin", 500, SkipReason.TOO_LARGE)]


@pytest.mark.parametrize(
    "limits", [Limits(max_files=5), Limits(max_bytes=50)], ids=["too many files", "too many bytes"]
)
def test_a_folder_that_holds_too_much_is_refused_until_somebody_insists(tmp_path: Path, limits: Limits):
    """Somebody who names the wrong folder must not lose the disk to it."""
    with Project(tmp_path, limits) as project:
        for number in range(6):
            project.write(f"folder/{number}", b"%010d" % number)

        with pytest.raises(RefusedWorkspace, match="6 files"):
            project.workspace.start()
        assert project.packs() == []
        assert project.workspace.totals() == (0, 0)

        checkpoint = project.workspace.start(force=True)
        project.check(checkpoint)
        # Once taken in, the folder may grow: a save that refuses would be a change that is missed.
        project.write("folder/7")
        project.check(project.save())


def test_exactly_as_much_as_is_allowed_is_allowed(tmp_path: Path):
    """A limit of five files means that five are fine."""
    with Project(tmp_path, Limits(max_files=5, max_bytes=50)) as project:
        for number in range(5):
            project.write(f"folder/{number}", b"%010d" % number)
        project.write("node_modules/excluded/1", bytes(1000))

        assert project.workspace.start().files_changed_count == 5
