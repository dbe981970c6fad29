"""Stores of earlier versions are brought up to date; those of later ones are left alone."""

import errno
import os
import subprocess
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed, StoreTooNew
from backtraild import formats
from backtraild.model import Intent, Kind
from backtraild.state import Query
from backtraild.workspace import Workspace
from support.git import git

OLD_STORE = Path(__file__).parents[1] / "fixtures" / "store-format-1.tar.gz"


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A store of version 1, with seven checkpoints, a pin, a restore and an undo in it."""
    subprocess.run(["tar", "-xzf", OLD_STORE, "-C", tmp_path], check=True)
    return tmp_path / "store"


def listed(workspace: Workspace) -> list[tuple[int, str, str]]:
    return [(each.number, each.kind, each.message) for each in workspace.history.list(Query()).checkpoints]


def test_a_store_of_the_first_version_goes_on_where_it_was(old: Path, tmp_path: Path):
    """Years of checkpoints must not depend on the version that made them."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    before = git("for-each-ref", git_dir=old / "repo.git")
    assert formats.version_of(str(old)) == 1
    workspace = Workspace(str(root), str(old))
    try:
        assert formats.version_of(str(old)) == formats.CURRENT
        assert git("for-each-ref", git_dir=old / "repo.git") == before
        assert listed(workspace)[-3:] == [
            (3, "manual", "the third"),
            (2, "manual", "the second"),
            (1, "baseline", "Baseline"),
        ]
        second = workspace.history.get("2")
        assert (second.session, second.turn, second.pinned, second.metadata) == (
            "talk",
            1,
            True,
            {"tokens": 12},
        )
        assert b"".join(workspace.history.read("2", b"src/app.py")) == b'print("two")\n'
        (root / "notes.txt").write_text("written by the new version\n")
        made = workspace.save(Intent(Kind.MANUAL, "the eighth", request="a request"))
        assert made.number == 8
        workspace.restore("2")
        assert (root / "src" / "app.py").read_text() == 'print("two")\n'
        git("fsck", "--strict", git_dir=old / "repo.git")
    finally:
        workspace.close()


def test_upgrading_tells_the_versions_and_is_done_once(old: Path):
    """`backtrail migrate` says what it did."""
    assert formats.upgrade(str(old)) == (1, formats.CURRENT)
    assert formats.upgrade(str(old)) == (formats.CURRENT, formats.CURRENT)


def test_a_new_store_has_the_newest_version(tmp_path: Path):
    """It must not be taken for an old one when the next version comes."""
    (tmp_path / "project").mkdir()
    Workspace(str(tmp_path / "project"), str(tmp_path / "store")).close()
    assert (tmp_path / "store" / "format").read_text() == f"{formats.CURRENT}\n"


def test_a_store_of_a_later_version_is_refused_and_left_alone(old: Path, tmp_path: Path):
    """An older Backtrail does not know what it would destroy."""
    (old / "format").write_text("99\n")
    before = {path: path.read_bytes() for path in old.rglob("*") if path.is_file()}
    with pytest.raises(StoreTooNew, match="version 99"):
        Workspace(str(tmp_path), str(old))
    assert {path: path.read_bytes() for path in old.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("content", ["latest\n", "", "-7\n", "0"])
def test_a_store_whose_version_is_damaged_goes_on(old: Path, content: str):
    """The steps from the oldest version on can be taken again; refusing would lock all checkpoints in."""
    (old / "format").write_text(content)
    assert formats.upgrade(str(old)) == (1, formats.CURRENT)
    assert formats.version_of(str(old)) == formats.CURRENT


@pytest.mark.parametrize("step", ["replace_file", "remove_file"])
def test_a_disk_that_fails_during_an_upgrade_is_named_and_the_upgrade_gone_on_with(
    old: Path, monkeypatch: pytest.MonkeyPatch, step: str
):
    """The owner has to know which disk; once it is in order, the next opening does the rest."""

    def fail(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(formats.durable, step, fail)
        with pytest.raises(StoreFailed, match="Read-only file system"):
            formats.upgrade(str(old))
    assert formats.upgrade(str(old)) == (1, formats.CURRENT)
