"""Empty files that are made ahead."""

import errno
import os
import stat
from pathlib import Path

import pytest

from backtraild import blanks
from backtraild.blanks import Blank, Blanks


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def placed(blank: Blank, path: Path) -> None:
    os.write(blank.descriptor, b"content")
    os.close(blank.descriptor)
    os.rename(blank.path, path)


def test_a_folder_from_which_nothing_was_taken_stays_empty(tmp_path: Path):
    """A store that is only read has no files that nobody asked for."""
    Blanks(str(tmp_path)).restock()
    assert names(tmp_path) == set()


def test_as_many_are_made_ahead_as_were_taken_at_once(tmp_path: Path):
    """The next save makes no file: it finds those it needs."""
    found = Blanks(str(tmp_path))
    for number in range(3):
        placed(found.take(0o600), tmp_path / str(number))
    found.restock()
    ready = names(tmp_path) - {"0", "1", "2"}
    assert len(ready) == 3
    placed(found.take(0o600), tmp_path / "3")
    assert len(names(tmp_path) & ready) == 2


def test_after_a_crowd_no_more_are_made_ahead_than_one_needs(tmp_path: Path):
    """Thousands of packs in a row are no reason to keep thousands of empty files."""
    found = Blanks(str(tmp_path / "folder"))
    (tmp_path / "folder").mkdir()
    for number in range(3 * blanks.MOST):
        placed(found.take(0o600), tmp_path / str(number))
    found.restock()
    assert len(names(tmp_path / "folder")) == blanks.MOST


@pytest.mark.parametrize("ahead", [False, True], ids=["new", "made ahead"])
@pytest.mark.parametrize("mode", [0o400, 0o600])
def test_a_blank_has_the_mode_that_is_asked_for_and_can_be_written_and_read(
    tmp_path: Path, ahead: bool, mode: int
):
    """Packs are read-only once they have their name, whoever made the file and when."""
    found = Blanks(str(tmp_path))
    if ahead:
        placed(found.take(0o600), tmp_path / "first")
        found.restock()
    blank = found.take(mode)
    os.write(blank.descriptor, b"content")
    assert os.pread(blank.descriptor, 7, 0) == b"content"
    assert stat.S_IMODE(os.fstat(blank.descriptor).st_mode) == mode
    os.close(blank.descriptor)


def test_one_that_somebody_removed_is_made_anew(tmp_path: Path):
    """Whoever tidies up the store by hand costs nobody a checkpoint."""
    found = Blanks(str(tmp_path))
    placed(found.take(0o600), tmp_path / "first")
    found.restock()
    for name in names(tmp_path) - {"first"}:
        (tmp_path / name).unlink()
    placed(found.take(0o600), tmp_path / "second")
    assert (tmp_path / "second").read_bytes() == b"content"


def test_a_disk_that_takes_no_file_fails_nobody_before_the_file_is_needed(tmp_path: Path):
    """Making ahead is a courtesy; what it can't do is done, or told, when it matters."""
    folder = tmp_path / "folder"
    folder.mkdir()
    found = Blanks(str(folder))
    placed(found.take(0o600), tmp_path / "first")
    folder.rmdir()
    found.restock()
    with pytest.raises(FileNotFoundError):
        found.take(0o600)


def test_one_that_can_not_be_had_now_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Without a descriptor left, a save fails; the file that was made for it is there for the next one."""
    found = Blanks(str(tmp_path))
    placed(found.take(0o600), tmp_path / "first")
    found.restock()

    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fchmod", refuse)
        with pytest.raises(OSError, match=os.strerror(errno.EIO)):
            found.take(0o400)
    found.discard()
    assert names(tmp_path) == {"first"}


def test_none_is_left_behind(tmp_path: Path):
    """Neither by a daemon that ends nor, once the next one starts, by one that was killed."""
    found = Blanks(str(tmp_path))
    placed(found.take(0o600), tmp_path / "kept")
    found.restock()
    found.discard()
    assert names(tmp_path) == {"kept"}
    placed(found.take(0o600), tmp_path / "too")
    found.restock()
    assert {os.path.basename(path) for path in blanks.leftovers(str(tmp_path))} == names(tmp_path) - {
        "kept",
        "too",
    }
