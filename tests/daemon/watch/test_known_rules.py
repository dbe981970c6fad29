"""Rules of watched folders are known: their ignore files are read when they change, and not with every save."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.ignore import IGNORE_FILES
from backtraild.model import Checkpoint
from support.watching import Watched

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


class Opened:
    """The ignore files that somebody has tried to open."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.tried: list[bytes] = []
        self._open = os.open
        monkeypatch.setattr(os, "open", self._note)

    def _note(self, path: bytes, *arguments: int, **places: int) -> int:
        if path in IGNORE_FILES:
            self.tried.append(path)
        return self._open(path, *arguments, **places)


@pytest.fixture
def watched(tmp_path: Path) -> Iterator[Watched]:
    with Watched(tmp_path) as at:
        (at.root / "outer/inner").mkdir(parents=True)
        for folder in ("", "outer/", "outer/inner/"):
            (at.root / f"{folder}file.txt").write_text("1\n")
        at.start()
        yield at


def changed(checkpoint: Checkpoint) -> dict[str, str]:
    return {os.fsdecode(file.path): file.status for file in checkpoint.files_changed}


def test_a_save_of_a_file_in_watched_folders_asks_for_no_ignore_file(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of them a folder are looked for otherwise, most of them in vain, while somebody waits."""
    opened = Opened(monkeypatch)
    (watched.root / "outer/inner/file.txt").write_text("22\n")
    assert changed(watched.save()) == {"outer/inner/file.txt": "modified"}
    assert opened.tried == []


@pytest.mark.parametrize("name", [".gitignore", ".backtrailignore"])
@pytest.mark.parametrize("folder", ["", "outer/", "outer/inner/"])
def test_an_ignore_file_counts_from_the_save_on_that_follows_it_until_it_is_gone(
    watched: Watched, folder: str, name: str
) -> None:
    """Whichever folder on the way has it, and whichever change of it this is."""
    ignore = watched.root / folder / name
    ignore.write_text("*.log\n")
    (watched.root / "outer/inner/a.log").write_text("left out\n")
    assert changed(watched.save()) == {folder + name: "added"}
    (watched.root / "outer/inner/b.log").write_text("left out\n")
    (watched.root / "outer/inner/c.tmp").write_text("captured\n")
    assert changed(watched.save()) == {"outer/inner/c.tmp": "added"}
    ignore.write_text("*.tmp\n")
    (watched.root / "outer/inner/d.tmp").write_text("left out\n")
    assert changed(watched.save()) == {
        folder + name: "modified",
        "outer/inner/a.log": "added",
        "outer/inner/b.log": "added",
        "outer/inner/c.tmp": "deleted",
    }
    ignore.unlink()
    assert changed(watched.save()) == {
        folder + name: "deleted",
        "outer/inner/c.tmp": "added",
        "outer/inner/d.tmp": "added",
    }


def test_a_folder_moved_into_another_has_the_rules_of_its_new_place(watched: Watched) -> None:
    """Its watch is the one that it had before."""
    (watched.root / "strict").mkdir()
    (watched.root / "strict/.gitignore").write_text("*.log\n")
    watched.crawl()
    watched.save()
    (watched.root / "outer/inner").rename(watched.root / "strict/inner")
    watched.crawl()
    watched.save()
    (watched.root / "strict/inner/a.log").write_text("left out\n")
    (watched.root / "strict/inner/b.txt").write_text("captured\n")
    assert changed(watched.save()) == {"strict/inner/b.txt": "added"}


def test_where_a_folder_has_no_watch_its_ignore_files_are_read_every_time(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No event would tell that one of them has changed."""
    watched.watcher.shut_out(b"outer/inner", "no watch was left")
    (watched.root / "outer/inner/.gitignore").write_text("*.log\n")
    for name in ("a.log", "b.txt"):
        (watched.root / "outer/inner" / name).write_text("new\n")
        watched.dirt.mark(b"outer/inner/" + os.fsencode(name))
    opened = Opened(monkeypatch)
    assert changed(watched.save()) == {"outer/inner/b.txt": "added"}
    assert sorted(opened.tried) == sorted(IGNORE_FILES)
