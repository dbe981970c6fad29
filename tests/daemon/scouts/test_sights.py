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

NAMES = [b".", b"one", b"two"]
ROWS = [b"a bundle", b"another"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path)
    eventually(lambda: time.time_ns() > tmp_path.stat().st_ctime_ns + 2 * ticks.TICK_NS)
    return tmp_path


def proof(names: list[bytes] = NAMES, rows: list[bytes] = ROWS, before: int = 0) -> bytes:
    """Of the present folder, behind so many others that were looked at before it."""
    seen = Sights()
    for _ in range(before):
        assert seen.take(names)
    taken = seen.take(names)
    assert taken is not None
    seen.gather()
    return seen.proof(taken, rows)


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
    seen, before = Sights(), proof()
    change(folder)
    taken = seen.take(NAMES)
    seen.gather()
    assert taken is None or seen.proof(taken, ROWS) != before


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
    assert expected != proof(names=NAMES[:2])


def test_what_is_gone_or_too_much_is_looked_at_one_by_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And what comes behind it has a proof again."""
    seen = Sights()
    assert seen.take([b"one", b"gone"]) is None
    monkeypatch.setattr(sights, "MOST", 4)
    assert seen.take(NAMES) is not None
    assert seen.take(NAMES) is None
    seen.clear()
    taken = seen.take(NAMES)
    seen.gather()
    assert taken is not None
    assert seen.proof(taken, ROWS) == proof()


@pytest.mark.parametrize("why", ["another machine", "no such call", "another layout"])
def test_where_the_system_speaks_another_language_nothing_is_proven(
    folder: Path, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    """Bytes in another order, taken for a file's time, would never change."""
    if why == "another machine":
        monkeypatch.setattr(sights, "_MACHINES", ())
    elif why == "no such call":
        monkeypatch.setattr(sights.ctypes, "CDLL", lambda _: object())
    else:
        monkeypatch.setattr(sights, "_TELLING", (1, 6, 9, 10, 13, 14))
    assert Sights().take(NAMES) is None
