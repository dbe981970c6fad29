"""What a save found is what comparing its two trees would find, and spares it."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.model import Changes, Checkpoint, Limits
from backtraild.store import trees
from backtraild.workspace import parts, steps
from support.edits import Editor
from support.project import Project


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path, Limits(max_file_size=2_000)) as project:
        yield project


def remembered(project: Project, made: Checkpoint) -> Changes | None:
    return project.workspace._parts.steps.between(made.parent_tree, made.tree)


def compared(project: Project, made: Checkpoint) -> Changes:
    """By decoding both trees, entry by entry."""
    old = bytes.fromhex(made.parent_tree) if made.parent_tree else parts.EMPTY_TREE
    return dict(trees.compare(old, bytes.fromhex(made.tree), project.workspace.store.objects.read_tree))


@pytest.mark.parametrize("seed", range(6))
def test_what_a_save_remembers_is_what_its_two_trees_tell(project: Project, seed: int):
    """A diff that is answered from memory must be the one that git would give, whatever was done to the files."""
    chooser = random.Random(seed)
    editor = Editor(project.root, chooser)
    made = [project.workspace.start()]
    for turn in range(25):
        done = [editor.edit() for _ in range(chooser.randrange(1, 6))]
        if turn % 5 == 3:  # too large to be captured: what was there before leaves the tree
            project.write("grows", b"x" * chooser.choice([10, 5_000]))
        if turn % 7 == 6:
            project.workspace.restore(str(chooser.choice(made).number))
        made.append(project.save(" ".join(done), allow_empty=True))
    # With those that the restores made.
    everything = [project.workspace.store.get(number) for number in project.workspace.store.numbers]
    assert len(everything) > len(made)
    for checkpoint in everything:
        assert remembered(project, checkpoint) == compared(project, checkpoint), checkpoint.message


def test_how_a_new_checkpoint_differs_is_known_without_opening_a_tree(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Whoever hears of a checkpoint asks what is new in it; in a large folder, opening its trees takes longest."""
    project.write("folder/one", b"1\n")
    project.workspace.start()
    project.write("folder/one", b"2\n")
    made = project.save()
    monkeypatch.setattr(trees, "compare", lambda *_: pytest.fail("trees were compared"))
    assert project.workspace.losses(made) == (0, 1)
    assert set(project.workspace._parts.changes_between(made.parent_tree, made.tree)) == {b"folder/one"}


def test_a_checkpoint_of_very_many_files_is_not_kept_in_memory(project: Project):
    """A checkout changes thousands of files, of which nobody asks for the whole list again and again."""
    project.workspace.start()
    for number in range(steps.LARGEST + 1):
        project.write(f"{number}")
    made = project.save()
    assert remembered(project, made) is None
    assert len(project.workspace._parts.changes_between(made.parent_tree, made.tree)) == steps.LARGEST + 1


def test_steps_in_which_nothing_changed_are_forgotten_in_the_end_like_others():
    """A hook that saves after each command makes thousands of them, and the daemon must not grow."""
    known = steps.Steps()
    for number in range(steps.KEPT_BYTES // 100):
        known.keep(f"{number}", f"{number}", {})
    assert known.between("0", "0") is None
    assert known.between(f"{number}", f"{number}") == {}


def test_a_save_that_healed_the_store_remembers_nothing(project: Project):
    """What it found is told against rows of which some may have been lost, and not against a tree."""
    project.write("file", b"1\n")
    project.workspace.start()
    project.write("file", b"2\n")
    project.workspace._parts.suspicion.raise_for("damage was met")
    assert remembered(project, project.save()) is None


def test_a_restore_of_everything_leads_to_a_tree_that_is_known(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Of ten thousand files that went back, thousands of folders would be put together again in vain."""
    for name in ("folder/one", "folder/two", "three"):
        project.write(name, b"1\n")
    first = project.workspace.start()
    project.write("folder/one", b"2\n")
    (project.root / "three").unlink()
    project.save()
    monkeypatch.setattr(trees, "rebuild", lambda *_: pytest.fail("a tree was put together"))
    done = project.workspace.restore("1").result
    assert done is not None
    assert done.tree == first.tree
    assert remembered(project, done) == compared(project, done)


def test_a_restore_of_some_paths_leads_to_a_tree_of_its_own(project: Project):
    """What is known of all that differs says nothing about a part of it."""
    for name in ("one", "two"):
        project.write(name, b"1\n")
    first = project.workspace.start()
    for name in ("one", "two"):
        project.write(name, b"2\n")
    second = project.save()
    done = project.workspace.restore("1", [b"one"]).result
    assert done is not None
    assert done.tree not in (first.tree, second.tree)
    assert set(compared(project, done)) == {b"one"}
