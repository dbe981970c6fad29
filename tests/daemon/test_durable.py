"""Files that are put in place as a whole, or not at all."""

import os
import resource
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild import durable


@pytest.fixture
def no_large_files() -> Iterator[None]:
    """The system refuses to let a file grow beyond some bytes, as a full disk does."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_write_that_fails_leaves_the_old_content_and_nothing_else(
    tmp_path: Path, no_large_files: None
) -> None:
    """Half a file would take the last bytes of a disk that is full, and names which file it was."""
    path = tmp_path / "list"
    durable.replace_file(str(path), b"old")
    with pytest.raises(OSError, match=r"list\.tmp"):
        durable.replace_file(str(path), b"x" * 5000)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["list"]


def test_a_folder_is_made_with_those_above_it_and_for_its_owner_alone(tmp_path: Path) -> None:
    """A store is begun where nothing is yet; beginning it again is harmless."""
    path = tmp_path / "a" / "b" / "c"
    for _ in range(2):
        durable.make_folder(str(path))
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (path, path.parent)} == {0o700}


def test_each_new_folder_is_synced_into_the_one_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that is durable in a folder whose name is not is lost all the same."""
    synced: list[str] = []
    monkeypatch.setattr(durable, "sync_folder", synced.append)
    durable.make_folder(str(tmp_path / "a" / "b"))
    assert synced == [str(tmp_path), str(tmp_path / "a")]
