"""Restore and undo through the workspace: what they do, what they leave alone, and what they record."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo, StoreDamaged, UnknownCheckpoint, UnknownPath
from backtraild.model import Kind
from backtraild.state import Query
from backtraild.workspace import RestoreResult
from support.disk import snapshot
from support.project import Project, full_stat


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        project.write("same", b"same")
        project.write("src/a", b"a1")
        project.write("src/b", b"b1")
        project.write("src/deep/c", b"c1")
        project.write("tool", b"#!/bin/sh\n").chmod(0o755)
        (project.root / "link").symlink_to("src/a")
        project.workspace.start()
        yield project


def edit(project: Project) -> None:
    """Every kind of change."""
    project.write("src/a", b"a2")
    (project.root / "src/b").unlink()
    shutil.rmtree(project.root / "src/deep")
    project.write("src/deep", b"a file where a folder was")
    (project.root / "tool").chmod(0o644)
    (project.root / "link").unlink()
    (project.root / "link").symlink_to("elsewhere")
    project.write("new/file", b"new")


def listed(project: Project) -> list[int]:
    return [checkpoint.number for checkpoint in project.workspace.history.list(Query()).checkpoints]


def preview(project: Project, name: str, paths: Sequence[bytes] = ()) -> RestoreResult:
    return project.workspace._restorer.preview(name, paths)


def summary(result: RestoreResult) -> tuple[object, ...]:
    return result.written, result.deleted, result.unchanged, result.conflicts


def test_a_restore_brings_everything_back_and_says_what_it_did(project: Project):
    """The answer lists each file, so that nobody has to wonder what happened to a folder."""
    before = snapshot(project.root)
    edit(project)

    result = project.workspace.restore("1")

    assert snapshot(project.root) == before
    assert result.written == (b"link", b"src/a", b"src/b", b"src/deep/c", b"tool")
    assert result.deleted == (b"new/file", b"src/deep")
    assert (result.unchanged, result.conflicts, result.dry_run) == (1, (), False)
    assert result.safety_checkpoint is not None
    assert result.result is not None
    assert (result.safety_checkpoint.kind, result.result.kind) == (Kind.PRE_RESTORE, Kind.RESTORE)
    assert result.result.tree == result.checkpoint.tree
    assert listed(project) == [3, 2, 1]
    with pytest.raises(NothingToDo):
        project.save()
    project.check(result.result)


@pytest.mark.parametrize("saved", [False, True])
@pytest.mark.parametrize(
    "paths", [(), (b"src",), (b"src/a", b"new"), (b"same",), (b"src/deep",), (b"src/deep/c",), (b"",)]
)
def test_a_preview_says_exactly_what_the_restore_then_does(
    project: Project, paths: tuple[bytes, ...], saved: bool
):
    """`--dry-run` is only worth something if it is never wrong."""
    edit(project)
    if saved:
        project.save()
    disk, numbers, packs = full_stat(project.root), listed(project), project.packs()

    planned = preview(project, "1", paths)

    assert planned.dry_run
    assert (full_stat(project.root), listed(project), project.packs()) == (disk, numbers, packs)
    done = project.workspace.restore("1", paths)
    assert summary(planned) == summary(done)
    assert planned.checkpoint == done.checkpoint


@pytest.mark.parametrize("saved", [False, True])
def test_files_that_are_left_as_they_are_are_counted(project: Project, saved: bool):
    """“2 written, 4 unchanged” has to add up to the files that are there."""
    project.write("src/a", b"a2")
    project.write("src/new", b"new")
    if saved:
        project.save()

    assert preview(project, "1").unchanged == 5
    assert preview(project, "1", [b"src"]).unchanged == 2
    assert preview(project, "1", [b"src/a"]).unchanged == 0
    assert preview(project, "1", [b"same"]).unchanged == 1
    result = project.workspace.restore("1")
    assert (len(result.written), len(result.deleted), result.unchanged) == (1, 1, 5)
    assert project.workspace.restore("1").unchanged == 6


def test_one_path_can_be_brought_back_and_the_rest_stays(project: Project):
    """Somebody else's edits in other files are not overwritten."""
    edit(project)
    before = snapshot(project.root)

    result = project.workspace.restore("1", [b"src/b", b"src/a"])

    assert result.written == (b"src/a", b"src/b")
    assert snapshot(project.root) == before | {b"src/a": ("file", b"a1"), b"src/b": ("file", b"b1")}
    project.workspace.restore("1", [b"src"])
    assert (project.root / "src/deep/c").read_bytes() == b"c1"
    assert (project.root / "new/file").exists()
    project.workspace.restore("1", [b"new"])
    assert not (project.root / "new").exists()


def test_an_unknown_path_is_an_error_and_changes_nothing(project: Project):
    """A typing mistake that restores nothing and reports success is a silent no-op."""
    edit(project)
    disk = full_stat(project.root)
    for paths in ([b"nothing"], [b"src/a", b"nothing"], [b"src/a/below"], [b"sr"]):
        with pytest.raises(UnknownPath):
            preview(project, "1", paths)
        with pytest.raises(UnknownPath):
            project.workspace.restore("1", paths)
    assert full_stat(project.root) == disk


def test_every_restore_can_be_undone_and_the_undo_too(project: Project):
    """Going back to the wrong state must never be the end."""
    first = snapshot(project.root)
    edit(project)
    edited = snapshot(project.root)
    project.workspace.restore("1")

    result = project.workspace.undo()
    assert snapshot(project.root) == edited
    assert result.result is not None
    assert "undo" in result.result.message.lower() or "undid" in result.result.message.lower()
    project.workspace.undo()
    assert snapshot(project.root) == first
    project.workspace.undo()
    assert snapshot(project.root) == edited
    project.check(project.workspace.history.find("@"))


def test_an_undo_reaches_over_saves_and_a_restart(project: Project):
    """The mistake is often noticed only an hour and ten checkpoints later."""
    edit(project)
    edited = snapshot(project.root)
    project.workspace.restore("1")
    project.write("later", b"later")
    project.save()
    project.reopen()

    result = project.workspace.undo()

    assert snapshot(project.root) == edited
    assert result.deleted == (b"later", b"src/b", b"src/deep/c")
    assert project.captured(str(result.safety_checkpoint.number))[b"later"] == ("file", b"later")  # type: ignore[union-attr]


def test_undoing_a_restore_of_one_path_leaves_the_others_alone(project: Project):
    """Undo takes back what the restore did, not what was done elsewhere since."""
    project.write("src/a", b"a2")
    project.workspace.restore("1", [b"src/a"])
    project.write("src/b", b"edited since")

    project.workspace.undo()

    assert (project.root / "src/a").read_bytes() == b"a2"
    assert (project.root / "src/b").read_bytes() == b"edited since"


def test_undo_without_a_restore_is_nothing_to_do(project: Project):
    """There is an answer other than doing something surprising."""
    edit(project)
    project.save()
    with pytest.raises(NothingToDo):
        project.workspace.undo()


def test_restoring_the_present_state_makes_no_checkpoint(project: Project):
    """A second click on the same button is not an event."""
    disk = full_stat(project.root)

    result = project.workspace.restore("1")

    assert (result.written, result.deleted, result.unchanged) == ((), (), 6)
    assert (result.safety_checkpoint, result.result) == (None, None)
    assert listed(project) == [1]
    assert full_stat(project.root) == disk
    with pytest.raises(NothingToDo):
        project.workspace.undo()


def test_only_files_that_differ_are_written(project: Project):
    """Builds go by time stamps: an untouched file must keep its inode and its times."""
    edit(project)
    project.save()
    kept = (project.root / "same").lstat()
    tool = (project.root / "tool").lstat()
    changed = (project.root / "src/a").lstat()

    project.workspace.restore("1")

    after = (project.root / "same").lstat()
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        kept.st_ino,
        kept.st_mtime_ns,
        kept.st_ctime_ns,
    )
    assert (project.root / "tool").lstat().st_ino == tool.st_ino  # only its mode differed
    assert (project.root / "src/a").lstat().st_ino != changed.st_ino


def test_an_ignored_file_in_the_way_is_a_conflict_and_stays(project: Project):
    """Ignored files are in no checkpoint: what a restore overwrote there, nobody could bring back."""
    project.write(".gitignore", b"src/b\n/new/\n")
    project.write("src/b", b"ignored and precious")
    project.write("new/x", b"ignored too")
    project.save()
    kept = (project.root / "src/b").lstat()

    result = project.workspace.restore("1")

    assert [conflict.path for conflict in result.conflicts] == [b"src/b"]
    assert (project.root / "src/b").read_bytes() == b"ignored and precious"
    assert (project.root / "src/b").lstat().st_mtime_ns == kept.st_mtime_ns
    assert (project.root / "new/x").read_bytes() == b"ignored too"
    assert not (project.root / ".gitignore").exists()
    # Nothing is ignored any more, so the state after the restore holds both files.
    assert project.captured() == snapshot(project.root)


def test_an_edit_made_just_before_the_restore_is_in_the_safety_checkpoint(project: Project):
    """Nobody has to save first."""
    project.write("src/a", b"unsaved work")

    result = project.workspace.restore("1", dirty=[b"src/a"])

    assert result.safety_checkpoint is not None
    assert project.captured(str(result.safety_checkpoint.number))[b"src/a"] == ("file", b"unsaved work")
    assert (project.root / "src/a").read_bytes() == b"a1"


def test_a_change_that_nobody_hinted_at_is_a_conflict_and_not_overwritten(project: Project):
    """Hints can be missing. A file that is not as the safety checkpoint says is left alone."""
    project.write("src/a", b"a2")
    project.save()
    project.write("src/a", b"nobody said so")

    result = project.workspace.restore("1", dirty=[])

    assert [conflict.path for conflict in result.conflicts] == [b"src/a"]
    assert (project.root / "src/a").read_bytes() == b"nobody said so"


def test_what_was_left_alone_is_in_the_state_after_the_restore_as_it_is(project: Project):
    """Nobody hints at it later either: what a restore met by chance would be missed until everything is looked at."""
    project.write("src/a", b"a2")
    project.write("src/b", b"b2")
    project.save()
    project.write("src/a", b"nobody said so")

    result = project.workspace.restore("1", dirty=[], request="once")

    assert project.captured() == snapshot(project.root)
    assert result.written == (b"src/b",)
    again = project.workspace.restored_for("once")
    assert again is not None
    assert summary(again) == summary(result)


def test_two_names_of_one_file_get_its_mode_back_at_once(project: Project):
    """The second name has it with the first: that is no change that somebody else made."""
    os.link(project.root / "src/a", project.root / "twin")
    project.save()
    (project.root / "twin").chmod(0o755)
    project.save()

    result = project.workspace.restore("2", dirty=[])

    assert result.conflicts == ()
    assert {path: held[0] for path, held in project.captured().items() if path in (b"src/a", b"twin")} == {
        b"src/a": "file",
        b"twin": "file",
    }
    assert project.captured() == snapshot(project.root)
    project.workspace.undo(dirty=[])
    assert project.captured() == snapshot(project.root)
    assert os.access(project.root / "src/a", os.X_OK)


def damage_pack_of(project: Project, before: list[str]) -> None:
    """Overwrite the middle of the packs that are new since `before`."""
    for name in set(project.packs()) - set(before):
        if name.endswith(".pack"):
            path = project.git_dir / "objects" / "pack" / name
            content = bytearray(path.read_bytes())
            content[20 : len(content) - 24] = bytes(len(content) - 44)
            path.chmod(0o600)
            path.unlink()
            path.write_bytes(content)


def test_a_damaged_store_is_noticed_before_one_byte_of_the_workspace_changes(project: Project):
    """Half of a restore from a damaged store would be worse than none."""
    packs = project.packs()
    for number in range(20):
        project.write(f"src/many/{number}", os.urandom(200))
    project.save()
    damaged = project.packs()
    shutil.rmtree(project.root / "src")
    project.save()
    project.workspace.close()
    for name in set(project.packs()) - set(damaged):
        assert name not in packs
    keep = [name for name in project.packs() if name in packs or name not in damaged]
    damage_pack_of(project, keep)
    disk = full_stat(project.root)

    project.reopen()
    with pytest.raises(StoreDamaged):
        project.workspace.restore("2")

    assert full_stat(project.root) == disk
    project.workspace.restore("1")  # what is intact can still be had
    assert (project.root / "src/deep/c").read_bytes() == b"c1"


def test_a_single_damaged_file_stops_the_restore_before_any_other_file_is_written(project: Project):
    """All trees can be read, the plan is made, one blob is bad: still nothing may have changed."""
    project.write("zzz/bad", b"bad " * 100)
    packs = project.packs()
    project.save()
    shutil.rmtree(project.root / "src")
    shutil.rmtree(project.root / "zzz")
    project.save()
    objects = project.workspace._parts.store.objects
    whole = objects.chunks

    def chunks(oid: bytes) -> Iterator[bytes]:
        content = b"".join(whole(oid))
        yield content[:10]
        if content.startswith(b"bad "):
            raise StoreDamaged("It is damaged.")
        yield content[10:]

    objects.chunks = chunks  # type: ignore[method-assign]
    disk = full_stat(project.root)

    with pytest.raises(StoreDamaged):
        project.workspace.restore("2")

    assert without_times_of_root(full_stat(project.root)) == without_times_of_root(disk)
    assert len(project.packs()) > len(packs)
    del objects.chunks
    project.workspace.restore("2")
    assert (project.root / "zzz/bad").read_bytes() == b"bad " * 100


def without_times_of_root(found: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    """The folder in which a restore stages its files comes and goes in the root: its times may change."""
    return {path: seen for path, seen in found.items() if not path.endswith("/work/.")}


def test_a_restore_whose_safety_checkpoint_was_deleted_cannot_be_undone(project: Project):
    """The sentence says what is missing, and not only a number that nobody typed."""
    project.write("a", b"1")
    project.save()
    project.write("a", b"2")
    result = project.workspace.restore("@")
    assert result.safety_checkpoint is not None
    number = result.safety_checkpoint.number
    project.workspace.delete(str(number))
    with pytest.raises(UnknownCheckpoint, match=f"state before the last restore was checkpoint {number}"):
        project.workspace.undo()
    assert (project.root / "a").read_bytes() == b"1"
