"""The library as a whole, against the git binary and an independent walk of the disk."""

import os
import random
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo
from backtraild.model import Intent
from backtraild.workspace import Workspace
from support.disk import fsck, git_tree_id, snapshot
from support.edits import Editor

EDITS = 120
RESTORES = 30
HINTED_STEPS = 70


@pytest.mark.parametrize("seed", [int(os.environ.get("BACKTRAIL_SEED", "20261116")), None])
def test_every_edit_is_captured_as_git_would_and_every_state_can_be_had_back(
    tmp_path: Path, seed: int | None
):
    """This is the promise: what was on disk is in a checkpoint, byte for byte, and comes back from it."""
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    print(f"BACKTRAIL_SEED={seed}")
    chooser = random.Random(seed)
    root = tmp_path / "work"
    root.mkdir()
    workspace = Workspace(str(root), str(tmp_path / "store"))
    start = workspace.start()
    states = {start.number: (start.tree, snapshot(root))}
    editor = Editor(root, chooser)

    for step in range(EDITS):
        done = editor.edit()
        try:
            checkpoint = workspace.save(Intent(message=f"{step}: {done}"))
        except NothingToDo:
            checkpoint = workspace.history.find("@")
        assert checkpoint.tree == git_tree_id(root, tmp_path / "peer.git"), f"after step {step}, {done}"
        states[checkpoint.number] = (checkpoint.tree, snapshot(root))

    for number in chooser.choices(sorted(states), k=RESTORES):
        tree, files = states[number]
        before = snapshot(root)
        result = workspace.restore(str(number))
        assert not result.conflicts
        assert snapshot(root) == files, f"restoring {number}"
        if result.result is not None:
            assert result.result.tree == tree
            if chooser.random() < 0.3:
                workspace.undo()
                assert snapshot(root) == before, f"undoing the restore of {number}"
    workspace.close()
    fsck(tmp_path / "store" / "repo.git")


@pytest.mark.parametrize("seed", [int(os.environ.get("BACKTRAIL_SEED", "20261116")), None])
def test_hints_find_every_edit_that_a_look_at_everything_would_find(tmp_path: Path, seed: int | None):
    """Watching names paths. What they lead to must be all there is, or changes are missed until the next scan."""
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    print(f"BACKTRAIL_SEED={seed}")
    chooser = random.Random(seed)
    root = tmp_path / "work"
    root.mkdir()
    workspace = Workspace(str(root), str(tmp_path / "store"))
    workspace.start()
    editor = Editor(root, chooser)
    seen = Seen(root)

    for step in range(HINTED_STEPS):
        done = [editor.edit() for _ in range(chooser.choice([1, 1, 2, 5]))]
        before, seen = seen, Seen(root)
        hints = [*hints_between(before, seen, chooser), *noise(seen, chooser)]
        chooser.shuffle(hints)
        try:
            checkpoint = workspace.save(Intent(message=f"{step}"), hints)
        except NothingToDo:
            checkpoint = workspace.history.find("@")
        told = f"step {step}, {done}, hints {hints}"
        assert checkpoint.tree == git_tree_id(root, tmp_path / "peer.git"), told
        assert workspace.totals()[0] == len(seen.files), told
        with pytest.raises(NothingToDo):
            workspace.save(Intent(message=f"everything after {told}"))
    workspace.close()
    fsck(tmp_path / "store" / "repo.git")


def at(root: Path, path: bytes) -> bytes:
    return os.path.join(os.fsencode(root), path)


class Seen:
    """The files of a folder at one moment, and the folders that have any."""

    def __init__(self, root: Path) -> None:
        self.files = snapshot(root)
        self.folders = {folder for path in self.files for folder in folders_above(path)}


def folders_above(path: bytes) -> list[bytes]:
    """The folders on the way to a path, from the top."""
    return [path[:end] for end, byte in enumerate(path) if byte == ord("/")]


def hints_between(before: Seen, after: Seen, chooser: random.Random) -> set[bytes]:
    """What a watcher would say: the paths that differ; of a folder that came or went, perhaps only its top."""
    hints = set()
    for path in before.files.keys() | after.files.keys():
        if before.files.get(path) != after.files.get(path):
            moved = [folder for folder in folders_above(path) if folder in before.folders ^ after.folders]
            hints.add(moved[0] if moved and chooser.random() < 0.7 else path)
    return hints


def noise(seen: Seen, chooser: random.Random) -> list[bytes]:
    """Hints that are late, wrong or of no use: never there, excluded, unchanged, below a file."""
    known = sorted(seen.files) or [b"none"]
    return chooser.sample(
        [
            b"never/was/here",
            b"node_modules/package/index.js",
            b".git/index",
            chooser.choice(known),
            chooser.choice(known) + b"/below/it",
            chooser.choice(known) + b"/below/that",
            os.path.dirname(chooser.choice(known)) + b"/.gitignore",
            b"__pycache__",
        ],
        chooser.randrange(5),
    )
