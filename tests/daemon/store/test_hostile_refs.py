"""Refs that no honest program wrote: nothing outside is read or written, and no number becomes absurd."""

import os
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged, StoreFailed
from backtraild.state import Query
from backtraild.store import packed_refs, refs
from support.project import Project


@pytest.fixture
def project(tmp_path: Path):
    with Project(tmp_path) as made:
        made.write("kept", "first")
        made.save()
        yield made


def commit(project: Project) -> str:
    return (project.git_dir / "refs/checkpoints/1").read_text().strip()


NAMES = (
    "refs/checkpoints/-1",
    "refs/checkpoints/0",
    "refs/checkpoints/007",
    "refs/checkpoints/99999999999999999999",
    "refs/checkpoints/" + "9" * 5000,
    "refs/checkpoints/\u0663",
    "refs/checkpoints/1_0",
    "refs/checkpoints/../../../outside",
    "refs/sessions/../../../outside",
    "refs/sessions/a/b/c",
    "refs/pinned/../../../../outside",
    "/outside",
    "../outside",
    "refs",
    "refs//x",
    "refs/checkpoints/nul\0nul",
    "refs/checkpoints/\x1b[2J",
    "HEAD",
)


def test_packed_names_that_lead_elsewhere_or_count_too_far_are_no_checkpoints(project: Project):
    """A number of twenty digits fits into no table, and the next checkpoint would come after it."""
    outside = project.folder / "outside"
    outside.write_text(commit(project) + "\n")
    lines = [f"{commit(project)} {name}\n" for name in NAMES for _ in range(2)]
    more = [f"^{commit(project)}\n", "ref: refs/heads/x refs/checkpoints/5\n", "x" * 100_000 + "\n", "no end"]
    (project.git_dir / "packed-refs").write_text("# pack-refs with: peeled \n" + "".join([*lines, *more]))
    workspace = project.reopen()
    assert [found.number for found in workspace.history.list(Query(limit=10)).checkpoints] == [1]
    project.write("kept", "second")
    assert project.save().number == 2
    assert outside.read_text().strip() == commit(project)
    workspace.restore("1")
    assert (project.root / "kept").read_text() == "first"


def test_a_packed_file_without_end_is_refused_and_not_passed_over(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Opened without it, the store would give the numbers of its checkpoints to others."""
    monkeypatch.setattr(packed_refs, "LARGEST", 1000)
    (project.git_dir / "packed-refs").write_text(f"{commit(project)} refs/checkpoints/9\n" * 20)
    project.workspace.close()
    with pytest.raises(StoreFailed, match="longer than 1,000 bytes"):
        project._open()


def test_the_highest_number_is_not_counted_beyond(project: Project):
    """A checkpoint under a number that is not recognised again would be lost at the next start."""
    (project.git_dir / f"refs/checkpoints/{refs.HIGHEST_NUMBER}").write_text(commit(project) + "\n")
    project.reopen()
    project.write("kept", "second")
    with pytest.raises(StoreFailed, match="no number left"):
        project.save()


@pytest.mark.parametrize(
    "name", ["packed-refs", "refs/checkpoints/2", "refs/sessions/x", "refs/heads/deep/x"]
)
@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_ref_that_is_not_a_file_is_refused_at_once(project: Project, name: str, kind: str):
    """Whoever reads a FIFO waits for a writer that never comes, and a link leads to somebody's file."""
    place = project.git_dir / name
    place.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        place.symlink_to(project.folder / "outside")
    else:
        os.mkfifo(place)
    project.workspace.close()
    with pytest.raises(StoreFailed, match="is not a file"):
        project._open()


@pytest.mark.parametrize("kind", ["link", "fifo"])
def test_a_ref_that_is_exchanged_while_the_store_is_open_is_damage(project: Project, kind: str):
    """It was a file when the store was opened; nothing waits for it, and no link is followed."""
    place = project.git_dir / "refs/checkpoints/1"
    held = place.rename(project.folder / "held")
    if kind == "link":
        place.symlink_to(held)
    else:
        os.mkfifo(place)
    with pytest.raises(StoreDamaged, match="reference of checkpoint 1 is damaged"):
        project.workspace.history.get("1")
