"""The newest checkpoint's own diff is made before anybody asks for it: when, of what, and what never comes of it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged, UnknownCheckpoint
from backtraild.model import Checkpoint, Diff
from backtraild.workspace import foresight, history
from support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        project.write("folder/file", b"one\ntwo\n")
        project.write("gone", b"soon\n")
        project.write("executable", b"soon, too\n")
        project.workspace.start()
        yield project


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The checkpoints of which diffs are made, as the second of the two."""
    found: list[str | None] = []
    plain = history.History._diff

    def noted(self: history.History, from_id: str, to_id: str | None, *rest: object) -> Diff:
        found.append(to_id)
        return plain(self, from_id, to_id, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(history.History, "_diff", noted)
    return found


def edited(project: Project, content: bytes) -> Checkpoint:
    project.write("folder/file", content)
    return project.save()


def test_who_asks_first_gets_what_was_made_ahead_and_it_is_what_a_fresh_look_gives(
    project: Project, made: list[str | None]
):
    """An editor that hears of a checkpoint shows what is new in it while its user waits."""
    project.write("folder/file", b"one\n2\n")
    project.write("new", b"file\n")
    (project.root / "gone").rename(project.root / "moved")
    (project.root / "executable").chmod(0o700)
    checkpoint = project.save()
    project.workspace.history.foresee()
    assert made == [checkpoint.id]

    found = project.workspace.history.diff("@~1", "@")
    assert made == [checkpoint.id]
    assert {change.path for change in found.files} == {b"folder/file", b"new", b"moved", b"executable"}
    project.reopen()
    assert project.workspace.history.diff("@~1", "@") == found


def test_each_checkpoint_is_thought_of_once_and_only_the_newest(project: Project, made: list[str | None]):
    """Of a hundred checkpoints in a row, nobody asks about each: those in between must cost nothing."""
    edited(project, b"1\n")
    newest = edited(project, b"2\n")
    for _ in range(3):
        project.workspace.history.foresee()
    assert made == [newest.id]
    project.workspace.history._diffs.clear()
    project.workspace.history.foresee()
    assert made == [newest.id]
    next_one = edited(project, b"3\n")
    project.workspace.history.foresee()
    assert made == [newest.id, next_one.id]
    assert b"-2\n+3\n" in project.workspace.history.diff(newest.id, next_one.id).text.encode()
    assert made == [newest.id, next_one.id]


def test_nothing_is_made_ahead_of_what_the_last_daemon_left(project: Project, made: list[str | None]):
    """A start loads and reads nothing for a question that was not asked."""
    edited(project, b"1\n")
    project.reopen().history.foresee()
    assert made == []


def test_what_is_large_is_left_until_somebody_asks(project: Project, made: list[str | None]):
    """A checkout, or a dump of a database, would keep the daemon busy for an answer that few want."""
    for number in range(foresight.MOST_FILES + 1):
        project.write(f"many/{number}")
    project.save()
    project.workspace.history.foresee()
    edited(project, b"x\n" * foresight.MOST_BYTES)
    project.workspace.history.foresee()
    edited(project, b"small again\n")
    project.workspace.history.foresee()
    assert made == []


def test_what_is_no_longer_in_memory_is_not_read_for_it(project: Project, made: list[str | None]):
    """A disk that has to be woken up is woken up for those who ask."""
    edited(project, b"1\n")
    project.workspace.store.objects.recent.clear()
    project.workspace.history.foresee()
    assert made == []


def test_damage_is_left_to_those_who_ask(
    project: Project, made: list[str | None], monkeypatch: pytest.MonkeyPatch
):
    """Nobody asked: so there is nobody whom it could be told, and no save or worker to fail for it."""
    checkpoint = edited(project, b"1\n")

    def damaged(*_: object) -> None:
        raise StoreDamaged("A content is damaged.")

    with monkeypatch.context() as patch:
        patch.setattr(history, "patch_text", damaged)
        project.workspace.history.foresee()
    assert made == [checkpoint.id]
    assert project.workspace._parts.suspicion.reason is None
    assert project.workspace.history.diff("@~1", "@").insertions == 1
    assert made == [checkpoint.id] * 2


@pytest.mark.parametrize("name", ["1", "2"])
def test_a_deleted_checkpoint_is_unknown_whatever_was_made_ahead_of_it(project: Project, name: str):
    """Who deletes a checkpoint, perhaps for a secret in it, must not find it in an answer."""
    checkpoint = edited(project, b"secret\n")
    project.workspace.history.foresee()
    project.workspace.delete(name)
    for older, newer in (("1", "2"), ("1", checkpoint.id), (checkpoint.id, "1")):
        with pytest.raises(UnknownCheckpoint):
            project.workspace.history.diff(older, newer)


@pytest.mark.parametrize("name", ["1", "2"])
def test_a_checkpoint_that_was_deleted_at_once_is_passed_over(
    project: Project, made: list[str | None], name: str
):
    """Retention may let go of the one before, or of this one, before there was time for a diff."""
    project.workspace.history.foresee()  # of the first one, before which there is none
    edited(project, b"1\n")
    project.workspace.delete(name)
    project.workspace.history.foresee()
    assert made == []
