"""Commits that only look like checkpoints: told as damage, each by itself, whatever their record says."""

import json
from pathlib import Path
from typing import Any

import pytest

from backtrail.errors import StoreDamaged
from backtraild.state import Query
from support.forging import FILE_MODE, Forger
from support.project import Project

HONEST = {"format": 1, "number": 2, "kind": "manual", "time": "2026-11-16T08:00:00Z"}
FAR = 10**30

RECORDS: dict[str, dict[str, Any]] = {
    "a time without a zone": {"time": "2026-11-16T08:00:00"},
    "a time before all times": {"time": "0001-01-01T00:00:00+23:59"},
    "a time after all times": {"time": "9999-12-31T23:59:59-23:59"},
    "a turn beyond all numbers": {"turn": FAR},
    "a parent before the first": {"parent": -1},
    "a parent beyond all numbers": {"parent": FAR},
    "a parent that is no tree": {"parent_tree": "../../outside"},
    "fewer changes than none": {"changed": -1},
    "a file of less than nothing": {"files": [["added", "x", -1]]},
    "a file beyond all sizes": {"files": [["added", "x", FAR]]},
    "a session that is a list": {"session": ["x"]},
    "metadata that is a list": {"metadata": []},
    "another number": {"number": 7},
    "a number that is text": {"number": "2"},
    "no number": {"number": None},
}


@pytest.fixture
def project(tmp_path: Path):
    with Project(tmp_path) as made:
        made.write("kept", "first")
        made.save()
        yield made


def check_passed_over(project: Project) -> None:
    """The forged checkpoint is told as damaged; the workspace opens, lists, saves and restores as ever."""
    workspace = project.reopen()
    with pytest.raises(StoreDamaged):
        workspace.history.get("2")
    assert [found.number for found in workspace.history.list(Query(limit=10)).checkpoints] == [1]
    project.write("kept", "second")
    assert project.save().number == 3
    workspace.restore("1")
    assert (project.root / "kept").read_text() == "first"


@pytest.mark.parametrize("title", RECORDS)
def test_a_record_with_values_that_nobody_wrote_is_damage(title: str, project: Project):
    """One commit from elsewhere must not keep a workspace from being opened."""
    forger = Forger(project.git_dir)
    line = json.dumps({**HONEST, **RECORDS[title]})
    forger.commit(2, forger.tree((FILE_MODE, b"a", forger.blob())).hex(), line)
    check_passed_over(project)


def test_a_record_nested_a_hundred_thousand_deep_is_damage(project: Project):
    """It would exhaust the stack of whoever reads it without care."""
    forger = Forger(project.git_dir)
    line = json.dumps(HONEST)[:-1] + ', "metadata": {"a": ' + "[" * 100_000 + "]" * 100_000 + "}}"
    forger.commit(2, forger.tree((FILE_MODE, b"a", forger.blob())).hex(), line)
    check_passed_over(project)


def test_a_record_larger_than_any_is_damage(project: Project):
    """It would be read with every list."""
    forger = Forger(project.git_dir)
    line = json.dumps({**HONEST, "metadata": {"a": "x" * 20_000_000}})
    forger.commit(2, forger.tree((FILE_MODE, b"a", forger.blob())).hex(), line)
    check_passed_over(project)


@pytest.mark.parametrize("tree", ["", "../../outside", "x" * 40, "ab" * 19])
def test_a_commit_that_names_no_tree_is_damage(tree: str, project: Project):
    """What follows from it would fail as a bug, far away from the reason."""
    Forger(project.git_dir).commit(2, tree, json.dumps(HONEST))
    check_passed_over(project)
