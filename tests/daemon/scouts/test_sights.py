"""What is to be seen of a folder and its files: nothing that could be a change may leave it the same."""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from backtraild import ticks
from backtraild.scouts import sights
from backtraild.scouts.sights import Sights
from support.watching import eventually

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or Sights()._lstat is None, reason="there is no such call on this system"
)

FOLDER = [b".", b"one", b"two"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    eventually(lambda: time.time_ns() > tmp_path.stat().st_ctime_ns + 2 * ticks.TICK_NS)
    return tmp_path


def seen(paths: list[bytes] = FOLDER, before: int = 0) -> bytes | None:
    """What is to be seen of these, behind so many others that were looked at before them."""
    *_, found = Sights().of([paths] * (before + 1))
    return None if found is None else bytes(found)


def _same_size(at: Path) -> None:
    times = (at / "one").stat()
    (at / "one").write_text("eno")
    os.utime(at / "one", ns=(times.st_atime_ns, times.st_mtime_ns))


def _exchanged(at: Path) -> None:
    (at / "new").write_text("one")
    os.utime(at / "new", ns=(0, (at / "one").stat().st_mtime_ns))
    (at / "new").replace(at / "one")


CHANGES: dict[str, Callable[[Path], object]] = {
    "content": lambda at: (at / "two").write_text("three"),
    "content of the same size, its time set back": _same_size,
    "mode": lambda at: (at / "one").chmod(0o755),
    "another file in its place": _exchanged,
    "two exchanged": lambda at: (
        (at / "one").rename(at / "x"),
        (at / "two").rename(at / "one"),
        (at / "x").rename(at / "two"),
    ),
    "a name comes": lambda at: (at / "three").touch(),
    "a name goes": lambda at: (at / "one").unlink(),
    "a time": lambda at: os.utime(at / "one", ns=(0, 1)),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_changes_is_to_be_seen(folder: Path, change: Callable[[Path], object]) -> None:
    """What a start takes for unchanged is missed until its next change."""
    before = seen()
    assert before is not None
    change(folder)
    assert seen() != before


def test_it_is_the_same_as_long_as_nothing_changes(folder: Path) -> None:
    """Whatever else was looked at before it, and whoever has read the files meanwhile."""
    expected = seen()
    os.utime(folder / "one", ns=(0, (folder / "one").stat().st_mtime_ns))  # the row would not be the same
    assert seen() != expected
    expected = seen()
    assert (folder / "one").read_text() == "one"
    assert {seen(before=number) for number in range(3)} == {expected}


def test_where_one_is_gone_nothing_is_told_and_of_all_others_it_is(folder: Path) -> None:
    """It is looked at one by one; nothing else need be."""
    first, gone, last = Sights().of([FOLDER, [b".", b"gone"], FOLDER])
    assert first == last == seen()
    assert gone is None


def test_a_folder_looks_the_same_from_elsewhere(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths lead to it from the workspace's root, and it is the same folder."""
    expected = seen()
    monkeypatch.chdir(folder.parent)
    name = os.fsencode(folder.name)
    assert seen([name, name + b"/one", name + b"/two"]) == expected


def test_room_is_made_for_more_and_nothing_is_told_beyond_a_limit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of a million files would take much memory at once."""
    expected = seen()
    sight = Sights()
    for count in (1, 3, 2):
        assert sight.of([FOLDER] * count) == [expected] * count
    monkeypatch.setattr(sights, "MOST", 5)
    assert sight.of([FOLDER] * 2) == [None, None]
    assert sight.of([FOLDER]) == [expected]


@pytest.mark.parametrize("why", ["another machine", "no such call", "another layout"])
def test_where_the_system_speaks_another_language_nothing_is_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """Bytes in another order, taken for a file's time, would never change."""
    if why == "another machine":
        monkeypatch.setattr(sights, "_MACHINES", ())
    elif why == "no such call":
        monkeypatch.setattr(sights.ctypes, "PyDLL", lambda _: object())
    else:
        monkeypatch.setattr(sights, "_TELLING", (1, 6, 9, 10, 13, 14))
    assert seen() is None
