"""Damage that somebody meets while reading: healed from the folder, and not looked for in vain twice."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged
from backtraild.state import Query
from backtraild.workspace import verify
from support.project import Project
from support.serving import desk
from support.watching import eventually
from support.wounds import wound

SAME = b"the same\n" * 50


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """`same` is in two checkpoints; in the third and on the disk, its content has another name."""
    with Project(tmp_path) as opened:
        opened.write("same", SAME)
        for number in (1, 2):
            opened.write("file", f"content {number}\n" * 50)
            opened.save()
        (opened.root / "same").rename(opened.root / "moved")
        opened.save()
        yield opened


def broken(project: Project, path: str) -> None:
    """Damage a part of the first checkpoint, in packs that nobody has open."""
    wound(project, path, 1)
    project.workspace.store.objects.refresh()


def test_a_restore_takes_from_the_folder_what_the_store_has_lost(project: Project):
    """The content is on the disk under another name: nobody should be told that it is gone."""
    broken(project, "same")
    done = project.workspace.restore("1", [b"same"])
    assert done.written == (b"same",)
    assert (project.root / "same").read_bytes() == SAME
    assert verify(str(project.store)).damaged == ()


def test_a_preview_says_what_the_restore_can_do(project: Project):
    """What can be restored must not fail when it is only asked for."""
    broken(project, "")
    with pytest.raises(StoreDamaged):  # the folder itself is nowhere else
        project.workspace.preview("1")
    assert project.workspace.preview("2", [b"same"]).written == (b"same",)


def test_a_restore_of_what_is_lost_for_good_changes_nothing(project: Project):
    """It fails as it did before, and the folder is what it was."""
    broken(project, "file")
    before = {path.name: path.read_bytes() for path in project.root.iterdir()}
    with pytest.raises(StoreDamaged):
        project.workspace.restore("1")
    assert {path.name: path.read_bytes() for path in project.root.iterdir()} == before
    assert not project.workspace.remedy.is_due


def test_a_checkpoint_that_a_list_passes_over_is_named_and_looked_for_once(project: Project):
    """It was listed before and is not any more: `status` has to say why."""
    broken(project, "commit")
    assert [each.number for each in project.workspace.history.list(Query()).checkpoints] == [3, 2]
    assert project.workspace.unreadable() == [1]
    assert project.workspace.heal_if_due()
    project.workspace.history.list(Query())
    assert project.workspace.unreadable() == [1]
    assert not project.workspace.heal_if_due()


def test_damage_that_a_reader_meets_is_healed_in_the_next_idle_moment(tmp_path: Path):
    """Whoever reads is told of the damage; the next one finds the file whole, without any save in between."""
    with desk(tmp_path) as at:
        (tmp_path / "work").mkdir()
        (tmp_path / "work" / "same").write_bytes(SAME)
        site = at.watch()
        wound(site, "same", 1)
        at.service.ask(site.id, lambda keeper: keeper.workspace.store.objects.refresh())
        with pytest.raises(StoreDamaged):
            at.service.read(site.id, "1", b"same")
        eventually(lambda: at.events("healed"))
        assert at.service.read(site.id, "1", b"same") == SAME
        assert len(site.checkpoints()) == 1


def test_a_save_among_many_checkpoints_costs_the_table_what_it_costs_among_few(project: Project):
    """Nothing that is done after each save may go through all checkpoints."""
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    def cost(number: int) -> int:
        nonlocal steps
        project.write("file", f"{number:09}")
        steps = 0
        project.save(dirty=[b"file"])
        assert project.workspace.unreadable() == []
        return steps

    project.workspace._parts.database.connection._connection.set_progress_handler(step, 1)
    costs = [cost(number) for number in range(40)]
    assert costs[35] <= costs[5] + 20
