"""Attackers at work while Backtrail reads and writes, a few rounds of each; `make torture` makes many."""

import os
from pathlib import Path

import pytest

from support.forging import FILE_MODE, Forger
from support.project import Project
from torture.campaign import Round
from torture.campaigns import attacks, hostile_sessions, hostile_stores

SWAPPED = {campaign.name: campaign for campaign in attacks.CAMPAIGNS}
# The others of the table differ from one of these in a name or a mode.
TREES = (
    "a million million files",
    "children under a link's name",
    "dot dot in between",
    "git",
    "link with children",
    "odd modes",
)

SESSIONS = (
    "a million million messages",
    "a time without a zone",
    "another session's id",
    "messages in a crowd of chunks",
    "millions of turns in a few objects",
)


@pytest.mark.parametrize("name", sorted(SWAPPED))
def test_folders_that_become_symlinks_lead_nowhere(name: str, tmp_path: Path):
    """A build script, or a page that an agent reads, may try to have a file outside read or overwritten."""
    seed = int.from_bytes(os.urandom(4))
    print(f"seed {seed}")
    counts = SWAPPED[name].attempt(Round(seed, tmp_path))
    assert counts["swaps"] > 0, counts


@pytest.mark.parametrize("title", TREES)
def test_a_tree_that_no_honest_program_wrote_is_refused_or_bounded(title: str, tmp_path: Path):
    """A store that was copied from elsewhere must neither write where it likes nor stop the daemon."""
    number = sorted(hostile_stores.TREES).index(title)
    counts = hostile_stores.question_a_hostile_tree(Round(number, tmp_path))
    assert counts["refusals"] > 0, counts


@pytest.mark.parametrize("title", SESSIONS)
def test_a_session_that_no_honest_program_wrote_is_damage_or_bounded(title: str, tmp_path: Path):
    """One record from elsewhere must neither keep a folder from being watched nor be shown as another session."""
    number = sorted(hostile_sessions.FORGERIES).index(title)
    counts = hostile_sessions.question_a_hostile_session(Round(number, tmp_path))
    assert counts["refusals"] > 0, counts


def test_a_hostile_checkpoint_can_be_deleted_and_the_others_go_on(tmp_path: Path):
    """Whoever finds one wants the rest of the history back, and new checkpoints."""
    with Project(tmp_path) as project:
        project.write("kept", "first")
        project.save()
        forger = Forger(project.git_dir)
        forger.checkpoint(2, forger.doubled(40))
        forger.checkpoint(3, forger.tree((FILE_MODE, b"../evil", forger.blob())))
        workspace = project.reopen()
        for name in ("2", "3"):
            workspace.delete(name)
        project.write("kept", "second")
        project.save()
        workspace.restore("1")
        assert (project.root / "kept").read_text() == "first"
        assert sorted(os.listdir(project.root)) == ["kept"]
