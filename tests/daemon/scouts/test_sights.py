"""What proves that a folder is as it was: nothing that could be a change may leave it the same."""

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

NAMES = [b"one", b"two"]
ROWS = [b"a bundle", b"another"]
HERE = b""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    eventually(lambda: time.time_ns() > tmp_path.stat().st_ctime_ns + 2 * ticks.TICK_NS)
    return tmp_path


def proof(names: list[bytes] = NAMES, rows: list[bytes] = ROWS, before: int = 0) -> bytes | None:
    """Of the present folder, behind so many others that were looked at before it."""
    *_, found = Sights().proofs([(HERE, names, rows)] * (before + 1))
    return found


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
def test_whatever_changes_takes_the_proof_away(folder: Path, change: Callable[[Path], object]) -> None:
    """What a start takes for unchanged is missed until its next change."""
    before = proof()
    assert before is not None
    change(folder)
    assert proof() != before


def test_it_is_the_same_as_long_as_nothing_changes(folder: Path) -> None:
    """Whatever else was looked at before it, and whoever has read the files meanwhile."""
    expected = proof()
    os.utime(folder / "one", ns=(0, (folder / "one").stat().st_mtime_ns))  # the row would not be the same
    assert proof() != expected
    expected = proof()
    assert (folder / "one").read_text() == "one"
    assert {proof(before=number) for number in range(3)} == {expected}


def test_other_rows_have_another_proof(folder: Path) -> None:
    """A file that was captured since, or is no longer: its row is what it is compared with."""
    expected = proof()
    assert expected not in {proof(rows=[]), proof(rows=ROWS[:1]), proof(rows=[b"A bundle", b"another"])}
    assert expected != proof(names=NAMES[:1])


def test_what_is_gone_has_no_proof_and_all_others_have(folder: Path) -> None:
    """It is looked at one by one; nothing else need be."""
    gone = (HERE, [b"one", b"gone"], ROWS)
    whole = (HERE, NAMES, ROWS)
    assert Sights().proofs([whole, gone, whole]) == [proof(), None, proof()]


def test_a_folder_elsewhere_has_the_proof_that_it_has_from_within(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths lead to it from the workspace's root, and it is the same folder."""
    expected = proof()
    monkeypatch.chdir(folder.parent)
    assert Sights().proofs([(os.fsencode(folder.name) + b"/", NAMES, ROWS)]) == [expected]


def test_room_is_made_for_more_and_there_is_no_proof_beyond_a_limit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder of a million files would take much memory at once."""
    expected = proof()
    seen = Sights()
    for count in (1, 3, 2):
        assert seen.proofs([(HERE, NAMES, ROWS)] * count) == [expected] * count
    monkeypatch.setattr(sights, "MOST", 5)
    assert seen.proofs([(HERE, NAMES, ROWS)] * 2) == [None, None]
    assert seen.proofs([(HERE, NAMES, ROWS)]) == [expected]


@pytest.mark.parametrize("why", ["another machine", "no such call", "another layout"])
def test_where_the_system_speaks_another_language_nothing_is_proven(
    folder: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """Bytes in another order, taken for a file's time, would never change."""
    if why == "another machine":
        monkeypatch.setattr(sights, "_MACHINES", ())
    elif why == "no such call":
        monkeypatch.setattr(sights.ctypes, "PyDLL", lambda _: object())
    else:
        monkeypatch.setattr(sights, "_TELLING", (1, 6, 9, 10, 13, 14))
    assert proof() is None
