"""Checkpoints: what they carry, when there is none to make, and letting go of them."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo, UnknownCheckpoint, UsageError
from backtraild.model import Kind
from backtraild.scan import scanner
from backtraild.state import Query
from support.disk import fsck
from support.git import git
from support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        project.write("file", b"one\n")
        yield project


def listed(project: Project) -> list[int]:
    return [checkpoint.number for checkpoint in project.workspace.history.list(Query()).checkpoints]


def test_the_baseline_holds_everything_and_is_the_first(project: Project):
    """Undo has to reach back to the state before Backtrail was there."""
    before = datetime.now(UTC)
    checkpoint = project.workspace.start()

    assert (checkpoint.number, checkpoint.kind, checkpoint.parent) == (1, Kind.BASELINE, None)
    assert before <= checkpoint.timestamp <= datetime.now(UTC)
    assert checkpoint.files_changed_count == 1
    project.check(checkpoint)


def test_an_empty_folder_has_a_baseline_too(tmp_path: Path):
    """A new project starts empty; its first file must have a “before”."""
    with Project(tmp_path) as project:
        checkpoint = project.workspace.start()
        assert checkpoint.files_changed == ()
        project.write("first")
        project.check(project.save())
        project.workspace.restore("1")
        assert list(project.root.iterdir()) == []
        fsck(project.git_dir)


def test_saving_what_is_saved_is_nothing_to_do(project: Project):
    """A caller has to know that no checkpoint was made; a stale id as an answer loses work."""
    project.workspace.start()
    for dirty in (None, [b"file"], []):
        with pytest.raises(NothingToDo):
            project.save("again", dirty)
    assert listed(project) == [1]


def test_an_empty_checkpoint_can_be_asked_for(project: Project):
    """“Before I let the agent loose” is worth a name even when nothing has changed."""
    first = project.workspace.start()
    checkpoint = project.save("mark", allow_empty=True)

    assert (checkpoint.number, checkpoint.tree, checkpoint.files_changed) == (2, first.tree, ())
    assert (checkpoint.parent, checkpoint.parent_tree) == (1, first.tree)
    assert project.save(allow_empty=True).message == "No files changed"
    assert listed(project) == [3, 2, 1]


def test_a_checkpoint_without_a_message_says_what_changed(project: Project):
    """A list of “auto” in every line helps nobody."""
    project.workspace.start()
    project.write("src/app.py")
    assert project.save().message == "src/app.py added"
    project.write("src/app.py", b"")
    assert project.save("").message == ""


@pytest.mark.parametrize(
    "message",
    [
        "one line",
        "title\n\nbody\n\nBacktrail: {}",
        "\n\n",
        "tree 0\nauthor x\n\n",
        "grüße 日本 \U0001f600",
        "nul \0 inside",
        "trailing space \n ",
        "\r\n",
        "# not a comment",
        "x" * 200_000,
    ],
)
def test_any_message_comes_back_as_it_was(project: Project, message: str):
    """Messages are prompts, and prompts are anything."""
    project.workspace.start()
    project.write("file", b"two\n")
    saved = project.save(message)

    assert saved.message == message
    project.reopen()
    assert project.workspace.history.get("@") == saved
    fsck(project.git_dir)


@pytest.mark.parametrize("message", ["x" * 1024 * 1024, "half a character \ud800"], ids=["1 MB", "surrogate"])
def test_a_message_that_cannot_be_kept_is_refused_before_anything_is_read(
    project: Project, monkeypatch: pytest.MonkeyPatch, message: str
):
    """The mistake is known at once; a minute of scanning first would be wasted."""
    project.workspace.start()
    project.write("file", b"two\n")

    def scanned(*_: object) -> None:
        raise AssertionError("a scan was started")

    with monkeypatch.context() as patch:
        patch.setattr(scanner.Scanner, "everything", scanned)
        patch.setattr(scanner.Scanner, "paths", scanned)
        for dirty in (None, [b"file"]):
            with pytest.raises(UsageError):
                project.save(message, dirty)
    project.check(project.save("short"))


def test_session_turn_and_metadata_come_back_as_they_were(project: Project):
    """They tie a checkpoint to the conversation that led to it."""
    project.workspace.start()
    metadata = {
        "tokens": 123,
        "cost": 0.25,
        "deep": {"list": [1, "zwei", None, True, {"x": []}]},
        "": "empty key",
        "text": "line\nline\0\u2028",
    }
    saved = project.save("m", allow_empty=True, kind=Kind.AGENT, session="s/1 ü", turn=7, metadata=metadata)
    project.reopen()
    found = project.workspace.history.get("@")

    assert found == saved
    assert (found.kind, found.session, found.turn, found.metadata) == (Kind.AGENT, "s/1 ü", 7, metadata)


@pytest.mark.parametrize(
    "metadata", [{"x": object()}, {"x": "y" * 5_000_000}, {"x": {1, 2}, "y": b"bytes"}, {"x": "\ud800"}]
)
def test_metadata_that_cannot_be_kept_is_refused_and_nothing_is_lost(project: Project, metadata: dict):
    """The save fails as a whole, and the next one finds all changes."""
    project.workspace.start()
    project.write("file", b"two\n")
    try:
        saved = project.save(metadata=metadata)
    except UsageError:
        assert listed(project) == [1]
        project.check(project.save())
    else:  # what JSON can express after all has to come back
        project.reopen()
        assert project.workspace.history.find("@") == saved


def test_the_newest_checkpoint_can_be_deleted_and_the_next_save_finds_its_changes_again(project: Project):
    """Its content is on disk and now in no checkpoint: the next save has to hold it."""
    project.workspace.start()
    project.write("file", b"two\n")
    project.write("new", b"new\n")
    project.save()

    assert project.workspace.delete("@").number == 2
    again = project.save()

    assert again.number == 3  # numbers are never given out twice
    assert [change.path for change in again.files_changed] == [b"file", b"new"]
    assert listed(project) == [3, 1]
    project.check(again)
    with pytest.raises(UnknownCheckpoint):
        project.workspace.history.find("2")


@pytest.mark.parametrize("reopened", [False, True])
def test_after_all_checkpoints_were_deleted_the_next_one_holds_everything_again(
    project: Project, reopened: bool
):
    """“Start afresh” must not lead to a first checkpoint that believes all files are saved already."""
    project.write("folder/other")
    project.workspace.start()
    project.write("file", b"two\n")
    project.save()
    project.workspace.delete("1")
    project.workspace.delete("2")
    if reopened:
        project.reopen()

    checkpoint = project.save()

    project.check(checkpoint)
    assert checkpoint.files_changed_count == 2
    assert project.workspace.totals()[0] == 2
    assert listed(project) == [3]


def test_an_older_checkpoint_can_be_deleted_without_harm_to_the_others(project: Project):
    """No checkpoint is built on another."""
    project.workspace.start()
    for number in range(3):
        project.write("file", b"%d" % number)
        project.save()
    project.workspace.delete("2")
    project.workspace.delete("1")
    git("gc", "-q", "--prune=now", git_dir=project.git_dir)
    project.reopen()

    project.workspace.restore("3")

    assert (project.root / "file").read_bytes() == b"1"
    fsck(project.git_dir)
    with pytest.raises(NothingToDo):
        project.save()


def test_a_pin_holds_until_it_is_taken_back(project: Project):
    """The state before a release stays, whatever retention says."""
    project.workspace.start()
    project.save(allow_empty=True)

    assert project.workspace.pin("1").pinned
    assert project.workspace.pin("1").pinned
    project.reopen()
    assert [checkpoint.pinned for checkpoint in project.workspace.history.list(Query()).checkpoints] == [
        False,
        True,
    ]
    assert not project.workspace.unpin("1").pinned
    assert not project.workspace.unpin("1").pinned
    project.workspace.pin("1")
    project.workspace.delete("1")  # asked for by name: deleted all the same
    project.reopen()
    assert listed(project) == [2]
    with pytest.raises(UnknownCheckpoint):
        project.workspace.pin("1")
