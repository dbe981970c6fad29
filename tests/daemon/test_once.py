"""Asked twice under one id, done once: for clients that lost the reply."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import RestoreInterrupted, StoreFailed, UsageError
from backtraild.model import Intent, Kind
from backtraild.restore import Reason
from backtraild.state import Connection
from backtraild.workspace import RestoreResult
from backtraild.workspace.recorder import Recorder
from support.disk import snapshot
from support.project import Project
from support.serving import Desk, Site, desk


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with desk(tmp_path, auto_checkpoint=False) as at:
        yield at.watch()


def restarted(site: Site) -> None:
    site.desk.restart()


def rebuilt(site: Site) -> None:
    """The daemon starts again and finds no table."""
    site.desk.service.stop()
    (site.store / "state.db").unlink()
    site.desk.restart()


def nothing(_: Site) -> None:
    """The daemon goes on."""


meanwhile = pytest.mark.parametrize("between", [nothing, restarted, rebuilt])


@meanwhile
def test_a_repeated_save_gives_the_checkpoint_that_was_made(site: Site, between):
    """The reply was lost, not the save; what was written since belongs to the next one."""
    save = site.desk.service.save
    site.write("a", "1")
    first = save(site.id, Intent(message="once", request="r1"))
    assert first.request == "r1"
    site.write("a", "2")
    between(site)
    save = site.desk.service.save
    assert save(site.id, Intent(message="once", request="r1")) == first
    second = save(site.id, Intent(message="another", request="r2"))
    assert second.number == first.number + 1
    assert site.content("a") == b"2", "the hint of the second write was not lost with the repeated save"


def test_saves_without_an_id_are_done_as_often_as_they_are_asked_for(site: Site):
    """Nobody promised anything for them."""
    numbers = [site.desk.service.save(site.id, allow_empty=True).number for _ in range(3)]
    assert len(set(numbers)) == 3


def test_a_deleted_checkpoint_answers_no_request(site: Site):
    """What is no more cannot be the answer."""
    first = site.desk.service.save(site.id, Intent(request="r1"), allow_empty=True)
    site.desk.service.delete(site.id, [str(first.number)])
    again = site.desk.service.save(site.id, Intent(request="r1"), allow_empty=True)
    assert again.number == first.number + 1


@pytest.mark.parametrize("page", range(1, 15))
def test_a_damaged_table_does_not_make_a_repeated_save_a_second_one(tmp_path: Path, page: int):
    """The bad sector is found in the middle of the work, not at a start."""
    with Project(tmp_path) as project:
        first = project.save(request="r1")
        database = project.workspace._parts.database
        database.connection.close()  # so that no page is remembered
        with (project.store / "state.db").open("r+b") as file:
            file.seek(page * 4096)
            file.write(random.Random(page).randbytes(4096))
        database.connection = Connection(database._open(), database._path, database._begin_anew)
        assert project.workspace.made_for("r1") == first


def history(site: Site) -> Site:
    """Three files, of which one is changed, one is new and one is gone after checkpoint 2."""
    for name in ("kept", "changed", "gone"):
        site.write(f"src/{name}", "old")
    site.desk.service.save(site.id)
    site.write("src/changed", "new")
    site.write("new", "new")
    (site.root / "src/gone").unlink()
    return site


def facts(result: RestoreResult) -> tuple[object, ...]:
    assert result.safety_checkpoint is not None
    assert result.result is not None
    numbers = result.checkpoint.number, result.safety_checkpoint.number, result.result.number
    return *numbers, result.written, result.deleted, result.unchanged, result.conflicts, result.dry_run


@meanwhile
@pytest.mark.parametrize("paths", [(), (b"src",), (b"src/changed", b"new")])
def test_a_repeated_restore_does_nothing_and_tells_what_was_done(site: Site, between, paths):
    """Between the two somebody may have gone on working: that work must not be taken away."""
    history(site)
    first = site.desk.service.restore(site.id, "2", paths, request="r1")
    assert first.result is not None
    assert (first.result.request, first.result.kind) == ("r1", Kind.RESTORE)
    assert "request" not in first.result.metadata
    site.write("src/changed", "newer")
    disk = snapshot(site.root)
    between(site)
    again = site.desk.service.restore(site.id, "2", paths, request="r1")
    assert facts(again) == facts(first)
    assert snapshot(site.root) == disk
    site.desk.service.save(site.id)
    assert site.content("src/changed") == b"newer"


def test_a_repeated_restore_tells_of_conflicts_again(site: Site):
    """What was left alone is the part of the answer that its user must not miss."""
    site.write("folder", "a file, in the checkpoint")
    site.desk.service.save(site.id)
    (site.root / "folder").unlink()
    site.write(".gitignore", "folder/ignored\n")
    site.write("folder/ignored", "held by no checkpoint")
    first = site.desk.service.restore(site.id, "2", request="r1")
    assert [(conflict.path, conflict.reason) for conflict in first.conflicts] == [(b"folder", Reason.FOLDER)]
    assert site.desk.service.restore(site.id, "2", request="r1").conflicts == first.conflicts


@meanwhile
def test_a_repeated_undo_is_no_redo(site: Site, between):
    """The client asks again because it heard nothing; the user would find the restore back in place."""
    history(site)
    before = snapshot(site.root)
    site.desk.service.restore(site.id, "2", request="r1")
    first = site.desk.service.undo(site.id, request="r2")
    assert snapshot(site.root) == before
    between(site)
    assert facts(site.desk.service.undo(site.id, request="r2")) == facts(first)
    assert snapshot(site.root) == before
    site.desk.service.undo(site.id, request="r3")
    assert snapshot(site.root)[b"src/gone"] == ("file", b"old"), "an undo of the undo, under its own id"


def test_an_id_that_was_used_for_a_save_is_refused_for_a_restore(site: Site):
    """Two things under one name: whichever answer was given, it would be the wrong one."""
    site.desk.service.save(site.id, Intent(request="r1"), allow_empty=True)
    with pytest.raises(UsageError, match="Request r1 made checkpoint 2, which is no restore"):
        site.desk.service.restore(site.id, "1", request="r1")


def test_an_event_is_told_once_for_what_was_asked_twice(tmp_path: Path):
    """A timeline shows what happened, not how often it was asked for."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = history(at.watch())
        for _ in range(2):
            at.service.save(site.id, Intent(request="r1"))
            at.service.restore(site.id, "2", request="r2")
        assert told(at, "checkpoint_restored") == 1
        assert told(at, "checkpoint_created") == 4, "the baseline, two saves, and the one before the restore"


def told(at: Desk, kind: str) -> int:
    return len(at.events(kind))


@pytest.mark.parametrize("request_id", ["r2", None])
def test_an_undo_that_could_not_be_recorded_is_finished_and_not_turned_round(
    site: Site, monkeypatch: pytest.MonkeyPatch, request_id: str | None
):
    """The disk was full for a moment, after the files were in place: asking again completes that undo.

    Asked again without an id, it is the undo of that undo, and not of the restore before it.
    """
    history(site)
    before = snapshot(site.root)
    site.desk.service.restore(site.id, "2")
    restored = snapshot(site.root)
    with monkeypatch.context() as patch:
        patch.setattr(Recorder, "save", failing_for_restores(Recorder.save))
        with pytest.raises(RestoreInterrupted):
            site.desk.service.undo(site.id, request=request_id)
    assert snapshot(site.root) == before
    again = site.desk.service.undo(site.id, request=request_id)
    assert snapshot(site.root) == (before if request_id else restored)
    assert again.result is not None
    assert again.result.request == request_id
    restores = [made for made in site.checkpoints() if made.kind is Kind.RESTORE]
    assert len(restores) == (2 if request_id else 3)
    assert told(site.desk, "checkpoint_restored") == len(restores)


def failing_for_restores(save):
    def fail(self, intent, *arguments, **options):
        if intent.kind is Kind.RESTORE:
            raise StoreFailed("No space left on device.")
        return save(self, intent, *arguments, **options)

    return fail
