"""Checkpoints by name, files of checkpoints, and differences."""

import os
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from backtrail.errors import AmbiguousCheckpoint, NothingToDo, UnknownCheckpoint, UnknownPath, UsageError
from backtraild.model import Status
from support.git import git
from support.project import Project, full_stat


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        yield project


def read(project: Project, name: str, path: bytes) -> bytes:
    return b"".join(project.workspace.history.read(name, path))


def test_a_checkpoint_answers_to_every_kind_of_name(project: Project):
    """What a list shows, in any column, can be typed back."""
    made = [project.workspace.start()]
    for number in range(3):
        project.write("file", b"%d" % number)
        made.append(project.save())
    find = project.workspace.history.find

    assert find("@") == find("@~0") == made[3]
    assert find("@~") == find("@~1") == made[2]
    assert find("@~3") == made[0]
    assert find("2") == made[1]
    for checkpoint in made:
        assert find(checkpoint.id) == find(checkpoint.id[:12]) == checkpoint
        moment = checkpoint.timestamp.astimezone(UTC).isoformat()
        assert find(f"@{{{moment}}}") == checkpoint
    for unknown in ("@~4", "5", "0" * 40, "nonsense"):
        with pytest.raises(UnknownCheckpoint):
            find(unknown)
    with pytest.raises(UsageError):
        find("@:file")


def test_a_prefix_that_two_checkpoints_share_is_refused(project: Project):
    """Guessing between two states is how the wrong one gets restored."""
    project.workspace.start()
    ids = [project.save(f"{number}", allow_empty=True).id for number in range(3)]
    project.workspace.settle()
    index = project.workspace._parts.index
    # Two ids with a common beginning are not to be had by chance: the index is told of one.
    twin = project.workspace.history.find("2")
    index.add(
        type(twin)(**{name: getattr(twin, name) for name in twin.__slots__} | {"id": ids[1][:10] + "f" * 30})
    )

    with pytest.raises(AmbiguousCheckpoint):
        project.workspace.history.find(ids[1][:8])


def test_a_path_is_found_at_once_after_the_save_that_captured_it(project: Project):
    """The table learns of a checkpoint when the answer is given, but whoever asks must not be faster than that."""
    project.workspace.start()
    project.write("aardvark.py", b"x")
    made = project.save()
    found = project.workspace.search("aardvark", None, 10, None)
    assert [(hit.path, hit.checkpoint) for hit in found.hits] == [(b"aardvark.py", made.number)]


def test_a_file_of_a_checkpoint_can_be_read_without_restoring_it(project: Project):
    """`backtrail cat 3:src/app.py` gives one file back and touches nothing."""
    large = os.urandom(9 * 1024 * 1024)
    project.write("src/app.py", b"one\r\n\xff")
    project.write("large", large)
    project.write("empty", b"")
    (project.root / "link").symlink_to("src/app.py")
    project.write(b"caf\xe9", b"latin")
    project.workspace.start()
    project.write("src/app.py", b"two")
    project.save()
    before = full_stat(project.root)

    assert read(project, "1", b"src/app.py") == b"one\r\n\xff"
    assert read(project, "@", b"src/app.py") == b"two"
    assert read(project, "1", b"large") == large
    assert read(project, "1", b"empty") == b""
    assert read(project, "1", b"link") == b"src/app.py"
    assert read(project, "1", b"caf\xe9") == b"latin"
    for path in (b"src", b"", b"missing", b"src/missing", b"src/app.py/below", b"src/"):
        with pytest.raises(UnknownPath):
            read(project, "1", path)
    assert full_stat(project.root) == before


def make_changes(project: Project) -> None:
    """Every kind of change, after a baseline."""
    project.write("changed.txt", b"one\ntwo\nthree\n")
    project.write("deleted.txt", b"gone\n")
    project.write("old-name.txt", b"".join(b"line %d\n" % number for number in range(30)))
    project.write("binary.dat", b"\0\1\2")
    project.write("sub/script.sh", b"#!/bin/sh\n")
    project.workspace.start()
    project.write("changed.txt", b"one\n2\nthree\n")
    (project.root / "deleted.txt").unlink()
    (project.root / "old-name.txt").rename(project.root / "new-name.txt")
    project.write("binary.dat", b"\0\1\3")
    (project.root / "sub/script.sh").chmod(0o755)
    project.write("sub/added.txt", b"a\nb\n")


EXPECTED = {
    (b"binary.dat", Status.MODIFIED, None, None, None),
    (b"changed.txt", Status.MODIFIED, None, 1, 1),
    (b"deleted.txt", Status.DELETED, None, 0, 1),
    (b"new-name.txt", Status.RENAMED, b"old-name.txt", 0, 0),
    (b"sub/added.txt", Status.ADDED, None, 2, 0),
    (b"sub/script.sh", Status.MODE, None, 0, 0),
}


def told(files) -> set[tuple[object, ...]]:
    return {(file.path, file.status, file.old_path, file.insertions, file.deletions) for file in files}


def test_a_difference_is_the_same_with_the_disk_and_with_a_checkpoint_of_it(project: Project):
    """`diff` before a save shows what the save will hold; its text is a patch that git applies."""
    make_changes(project)
    history = project.workspace.history

    unsaved = history.diff("1")
    checkpoint = project.save()
    saved = history.diff("1", "@")

    assert told(unsaved.files) == told(saved.files) == told(checkpoint.files_changed) == EXPECTED
    assert (unsaved.insertions, unsaved.deletions) == (saved.insertions, saved.deletions) == (3, 2)
    assert unsaved.text == saved.text
    assert (unsaved.to_id, saved.to_id) == (None, checkpoint.id)
    real = git("diff", "--full-index", "-M", history.find("1").tree, checkpoint.tree, git_dir=project.git_dir)
    assert saved.text == real.decode()
    assert history.diff("@", "1").insertions == 2
    assert history.diff("@", "@").files == ()
    assert history.diff("@").text == ""


def test_a_difference_can_be_asked_for_some_paths(project: Project):
    """Of a refactoring over a hundred files, one is interesting."""
    make_changes(project)
    history = project.workspace.history

    def asked(*paths: bytes) -> set[bytes]:
        return {file.path for file in history.diff("1", paths=paths).files}

    assert asked(b"sub") == {b"sub/added.txt", b"sub/script.sh"}
    assert asked(b"changed.txt", b"sub/added.txt") == {b"changed.txt", b"sub/added.txt"}
    assert asked(b"nothing") == set()
    assert asked(b"old-name.txt") == {b"old-name.txt"}
    project.save()
    assert {file.path for file in history.diff("1", "@", [b"sub"]).files} == asked(b"sub")


def test_the_difference_to_the_disk_reaches_over_checkpoints_in_between(project: Project):
    """Changed in one checkpoint and changed back on disk is not a difference to the first."""
    project.write("back", b"one")
    project.write("on", b"one")
    project.workspace.start()
    project.write("back", b"two")
    project.write("on", b"two")
    project.write("shortlived", b"x")
    project.save()
    project.write("back", b"one")
    project.write("on", b"three")
    (project.root / "shortlived").unlink()

    difference = project.workspace.history.diff("1")

    assert [file.path for file in difference.files] == [b"on"]
    assert "-one" in difference.text
    assert "+three" in difference.text


def test_looking_at_the_difference_to_the_disk_leaves_no_trace(project: Project):
    """A `diff` must not swallow the change that the next save has to find, nor fill the disk."""
    make_changes(project)
    project.write("large", os.urandom(6 * 1024 * 1024))  # more than is kept in memory
    os.mkfifo(project.root / "pipe")
    parts = project.workspace._parts
    rows, packs = dict(parts.table.below(b"")), project.packs()
    refs = git("for-each-ref", git_dir=project.git_dir)
    disk = full_stat(project.root)

    for _ in range(2):
        assert len(project.workspace.history.diff("@").files) == 7

    assert dict(parts.table.below(b"")) == rows
    assert (project.packs(), git("for-each-ref", git_dir=project.git_dir)) == (packs, refs)
    assert full_stat(project.root) == disk
    assert project.workspace.skipped() == []
    assert project.workspace.totals()[0] == 5
    checkpoint = project.save()
    assert checkpoint.files_changed_count == 7
    assert [left.path for left in checkpoint.skipped] == [b"pipe"]
    with pytest.raises(NothingToDo):
        project.save()
