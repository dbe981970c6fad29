"""What is damaged in a store and still in the folder is whole again, and whatever is lost stops nothing else."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged
from backtraild.workspace import verify
from support import damage
from support.disk import fsck
from support.git import git
from support.project import Project
from support.wounds import wound


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """Three checkpoints: `same` and `folder/kept` are in all of them, `folder/file` differs in each."""
    with Project(tmp_path) as opened:
        opened.write("same", "the same\n" * 50)
        opened.write("folder/kept", "kept\n" * 50)
        for number in (1, 2, 3):
            opened.write("folder/file", f"content {number}\n" * 50)
            opened.save()
        yield opened


def packs(project: Project) -> dict[Path, bytes]:
    return {pack: pack.read_bytes() for pack in (project.git_dir / "objects" / "pack").glob("*.pack")}


def whole(project: Project) -> tuple[int, ...]:
    return verify(str(project.store)).whole


@pytest.mark.parametrize("path", ["", "folder"])
def test_a_damaged_folder_of_the_newest_checkpoint_does_not_stop_saves(project: Project, path: str):
    """One flipped bit would otherwise end all saving of a folder for good."""
    wound(project, path, 3)
    project.reopen()
    project.write("folder/new", "new\n")
    made = project.save(dirty=[b"folder/new"])
    project.check(made)
    assert whole(project) == (1, 2, 3, 4)
    assert [change.path for change in made.files_changed] == [b"folder/new"]


def test_damage_that_is_met_in_the_middle_of_a_save_is_healed_by_it(project: Project):
    """The store is damaged under a running daemon, which has the indexes in memory."""
    wound(project, "folder", 3)
    project.workspace._parts.store.objects.refresh()  # as if the folder had not been used for long
    project.write("folder/new", "new\n")
    project.check(project.save(dirty=[b"folder/new"]))
    assert whole(project) == (1, 2, 3, 4)


def test_a_damaged_file_that_is_still_in_the_folder_is_stored_again_for_all_that_share_it(project: Project):
    """The folder is the best backup of what has not changed."""
    wound(project, "same", 1)
    assert whole(project) == ()
    project.reopen()
    project.workspace.heal("somebody looked")
    assert whole(project) == (1, 2, 3)
    fsck(project.git_dir)


def test_healing_makes_no_checkpoint_and_forgets_no_change(project: Project):
    """Nobody asked for one; and what has changed meanwhile is still a change afterwards."""
    wound(project, "same", 1)
    project.write("changed", "since\n")
    project.workspace.heal("somebody looked")
    assert project.workspace.history.newest() == 3
    assert [change.path for change in project.save().files_changed] == [b"changed"]
    assert whole(project) == (1, 2, 3, 4)


def test_what_is_nowhere_any_more_is_lost_and_nothing_else(project: Project):
    """A file's old content is in no folder."""
    wound(project, "folder/file", 2)
    project.reopen()
    project.write("new", "new\n")
    project.save()
    found = verify(str(project.store))
    assert (found.whole, found.damaged) == ((1, 3, 4), (2,))
    with pytest.raises(StoreDamaged):
        project.workspace.restore("2")


def test_the_old_content_of_a_changed_file_may_be_damaged_when_the_new_one_is_saved(project: Project):
    """How many lines have changed is not worth a checkpoint."""
    wound(project, "folder/file", 3)
    project.workspace._parts.store.objects.refresh()
    project.write("folder/file", "other\n")
    made = project.save(dirty=[b"folder/file"])
    assert made.number in whole(project)
    assert [(change.path, change.insertions) for change in made.files_changed] == [(b"folder/file", None)]


def test_with_the_table_lost_as_well_the_folder_alone_heals_the_newest_checkpoint(project: Project):
    """Two damages at once, as after a bad disk."""
    wound(project, "folder", 3)
    project.workspace.close()
    (project.store / "state.db").write_bytes(b"not a database")
    project.workspace = project._open()
    project.write("new", "new\n")
    made = project.save()
    assert {3, made.number} <= set(whole(project))


def test_an_index_that_is_lost_or_damaged_is_made_again_from_its_pack(project: Project):
    """The pack has everything; a crash between two renames leaves the same."""
    indexes = [pack.with_suffix(".idx") for pack in packs(project)]
    contents = [index.read_bytes() for index in indexes]
    indexes[0].unlink()
    damage.put(str(indexes[1]), contents[1][:-30])
    damage.put(str(indexes[2]), contents[2][:1100] + b"?" + contents[2][1101:])
    project.reopen()
    assert [index.read_bytes() for index in indexes] == contents
    assert whole(project) == (1, 2, 3)
    assert not (project.store / "quarantine").exists()
    fsck(project.git_dir)


def test_an_index_of_deltas_is_made_again_too(project: Project):
    """Somebody ran `git gc` on the store."""
    git("gc", "-q", "--prune=now", git_dir=project.git_dir)
    (pack,) = packs(project)
    index = pack.with_suffix(".idx")
    content = index.read_bytes()
    index.unlink()
    project.reopen()
    assert index.read_bytes() == content


@pytest.mark.parametrize("with_index", [True, False])
def test_what_is_left_of_a_broken_pack_is_saved_and_the_pack_kept_aside(project: Project, with_index: bool):
    """Whoever knows how to read more out of it still has it."""
    before = packs(project)
    wound(project, "folder/file", 1)
    ((pack, broken),) = packs(project).items() - before.items()
    if not with_index:
        pack.with_suffix(".idx").unlink()
    project.reopen()
    assert whole(project) == (2, 3)
    assert (project.store / "quarantine" / pack.name).read_bytes() == broken
    assert not pack.exists()
    project.reopen()
    assert len(os.listdir(project.store / "quarantine")) == 1 + with_index


def test_what_was_healed_is_told_once(project: Project):
    """An event says what happened to the store."""
    wound(project, "same", 1)
    project.reopen()
    project.save(allow_empty=True)
    (healing,) = project.workspace.take_healings()
    assert "was damaged" in healing.reason
    assert healing.objects == 1
    assert list(project.workspace.take_healings()) == []
    project.reopen()
    assert list(project.workspace.take_healings()) == []


@pytest.mark.parametrize("left", [None, b"", b"garbage\n", b"0" * 40 + b"\n"])
def test_a_lost_or_garbled_reference_is_written_again_from_the_table(project: Project, left: bytes | None):
    """The table knows which commit it was."""
    ref = project.git_dir / "refs" / "checkpoints" / "2"
    content = ref.read_bytes()
    damage.put(str(ref), left)
    project.reopen()
    assert ref.read_bytes() == content
    assert whole(project) == (1, 2, 3)


def test_without_the_table_a_garbled_reference_finds_its_commit_and_a_missing_one_stays_away(
    project: Project,
):
    """A missing one may have been deleted: what its owner let go must not come back."""
    refs = project.git_dir / "refs" / "checkpoints"
    content = (refs / "2").read_bytes()
    project.workspace.close()
    (refs / "1").unlink()
    (refs / "2").write_bytes(b"garbage")
    (project.store / "state.db").unlink()
    project.workspace = project._open()
    assert (refs / "2").read_bytes() == content
    assert whole(project) == (2, 3)


def test_a_deleted_checkpoint_does_not_come_back(project: Project):
    """Its row goes before its reference, durably."""
    project.workspace.delete("2")
    project.reopen()
    assert whole(project) == (1, 3)


@pytest.mark.parametrize("what", ["commit", "reference"])
def test_a_damaged_checkpoint_can_be_deleted(project: Project, what: str):
    """It can't be restored, so there must be a way to be rid of it."""
    if what == "commit":
        wound(project, "commit", 2)
    else:
        (project.git_dir / "refs" / "checkpoints" / "2").write_bytes(b"garbage")
        project.workspace._parts.index.remove([2])
    assert project.workspace.delete("2").number == 2
    assert verify(str(project.store)).damaged == ()
    project.reopen()
    assert whole(project) == (1, 3)


def test_a_checkpoint_that_can_not_be_read_is_named(project: Project):
    """`status` and `doctor` tell how to be rid of it."""
    wound(project, "commit", 2)
    project.workspace.close()
    (project.store / "state.db").unlink()
    project.workspace = project._open()
    assert project.workspace.unreadable() == [2]


def test_a_list_asked_of_a_damaged_table_is_answered_from_git(project: Project):
    """A plain question is no place for an error of SQLite."""
    project.workspace.close()
    database = project.store / "state.db"
    content = bytearray(database.read_bytes())
    for at in range(4096, len(content), 4096):
        content[at : at + 200] = os.urandom(200)
    project.workspace = project._open()
    database.write_bytes(bytes(content))
    assert project.workspace.skipped() == []
    assert project.workspace.history.find("@").number == 3
    assert project.captured("2")[b"same"] == ("file", b"the same\n" * 50)
    project.check(project.save(allow_empty=True))
