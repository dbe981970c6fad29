"""A store that leads out of its own folder is not opened: it did not come from Backtrail."""

import os
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed
from backtraild.store import Store


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    Store.create(str(tmp_path / "repo.git"))
    return tmp_path / "repo.git"


@pytest.mark.parametrize("folder", ["", "objects", "objects/pack", "refs", "refs/checkpoints", "refs/pinned"])
def test_a_link_in_the_place_of_a_folder_is_refused_before_anything_is_written(
    git_dir: Path, tmp_path: Path, folder: str
):
    """Tidying up deletes what ends in .lock: behind a link that would be somebody's package-lock."""
    outside = tmp_path / "outside"
    (outside / "pack").mkdir(parents=True)
    (outside / "yarn.lock").write_text("precious")
    place = git_dir / folder if folder else git_dir
    if place.exists():
        place.rename(tmp_path / "away")
    place.symlink_to(outside)
    with pytest.raises(StoreFailed, match="symbolic link"):
        Store.create(str(git_dir))
    assert sorted(os.listdir(outside)) == ["pack", "yarn.lock"]
    assert os.listdir(outside / "pack") == []


def test_a_store_whose_objects_lie_elsewhere_is_refused(git_dir: Path):
    """Git would send what lies there to a mirror, though Backtrail itself never looks there."""
    (git_dir / "objects" / "info" / "alternates").write_text("/somewhere/else/objects\n")
    with pytest.raises(StoreFailed, match="lie elsewhere"):
        Store.create(str(git_dir))


def test_settings_that_came_with_a_store_do_not_survive_its_opening(git_dir: Path, tmp_path: Path):
    """A store's configuration could name programs for git to run when it is mirrored."""
    ran = tmp_path / "ran"
    (tmp_path / "more").write_text(f"[core]\n\tfsmonitor = touch {ran}\n")
    (git_dir / "config").write_text(
        f"[core]\n\tsshCommand = touch {ran}\n\thooksPath = {tmp_path}\n[include]\n\tpath = {tmp_path}/more\n"
        f'[remote "origin"]\n\turl = ext::touch {ran}\n[extensions]\n\tworktreeConfig = true\n'
    )
    Store.create(str(git_dir))
    left = (git_dir / "config").read_text()
    assert not [word for word in ("ssh", "include", "remote", "extensions", str(tmp_path)) if word in left]
