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

EDITS = 220
RESTORES = 50


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
        assert snapshot(root) == files, f"restoring {number}"
        assert not result.conflicts
        if result.result is not None:
            assert result.result.tree == tree
            if chooser.random() < 0.3:
                workspace.undo()
                assert snapshot(root) == before, f"undoing the restore of {number}"
    workspace.close()
    fsck(tmp_path / "store" / "repo.git")
