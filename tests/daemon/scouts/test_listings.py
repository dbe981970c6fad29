"""What is in a folder beside its rows: known without listing it only where nothing can have come or gone."""

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtraild import layout, ticks
from backtraild.scouts import listings
from backtraild.scouts.listings import Listings
from support.watching import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="scouts are Linux's")

KEY = b"/folder/"
ROWS = [b"one", b"two"]
BUNDLES = [b"a bundle", b"another"]
SEEN = memoryview(bytes(range(48)))
PROOF_AT = 32  # in a listing


class Visited:
    """A folder with two files that have rows, and others; visits keep what they have made, as a start does."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root, self.folder = root, root / "folder"
        self.table = sqlite3.connect(":memory:", isolation_level=None)
        self.table.execute(
            "CREATE TABLE listings (folder BLOB PRIMARY KEY, listing BLOB NOT NULL) WITHOUT ROWID"
        )
        self.listed = 0
        self._listdir = os.listdir
        monkeypatch.setattr(os, "listdir", self._count)
        monkeypatch.chdir(self.folder)

    def _count(self, path: bytes) -> list[bytes]:
        self.listed += 1
        return self._listdir(path)

    def visit(
        self, names: list[bytes] = ROWS, *, dated: bool = True, stretch: tuple[bytes, bytes] = (b"/", b"0")
    ) -> set[bytes]:
        """The others in it."""
        self.listed = 0
        found = Listings(self.table, stretch, os.fsencode(self.root) if dated else None)
        others = set(found.others(KEY, names))
        self.table.executemany("INSERT OR REPLACE INTO listings VALUES (?, ?)", found.made)
        return others

    def rest(self) -> None:
        """Until the folder's times are a proof."""
        eventually(lambda: time.time_ns() > self.folder.stat().st_ctime_ns + 2 * ticks.TICK_NS)


@pytest.fixture
def visited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visited]:
    (tmp_path / "folder/sub").mkdir(parents=True)
    for name in ("one", "two", "excluded"):
        (tmp_path / "folder" / name).touch()
    at = Visited(tmp_path, monkeypatch)
    at.rest()
    yield at
    at.table.close()


def test_a_folder_is_listed_once(visited: Visited) -> None:
    """To list ten thousand of them takes a fifth of a start."""
    assert (visited.visit(), visited.listed) == ({b"sub", b"excluded"}, 1)
    assert (visited.visit(), visited.listed) == ({b"sub", b"excluded"}, 0)


def test_one_that_only_leads_to_a_stretch_is_listed_once_too(visited: Visited) -> None:
    """Every stretch passes through the folders around it."""
    elsewhere = b"/folder/sub/", b"/folder/sub/0"
    visited.visit(stretch=elsewhere)
    assert (visited.visit(stretch=elsewhere), visited.listed) == ({b"sub", b"excluded"}, 0)


def _set_times_back(folder: Path, change: Callable[[], object]) -> None:
    before = folder.stat()
    change()
    os.utime(folder, ns=(before.st_atime_ns, before.st_mtime_ns))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file comes": lambda at: (at / "new").touch(),
    "a folder comes": lambda at: (at / "new").mkdir(),
    "a folder goes": lambda at: (at / "sub").rmdir(),
    "a name changes": lambda at: (at / "sub").rename(at / "bus"),
    "a link comes": lambda at: (at / "new").hardlink_to(at / "one"),
    "two are exchanged": lambda at: ((at / "sub").rename(at / "x"), (at / "excluded").rename(at / "sub")),
    "one comes from elsewhere": lambda at: (at.parent / "folder/sub").rename(at / "moved"),
    "times are set back": lambda at: _set_times_back(at, (at / "new").touch),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_whatever_comes_or_goes_is_seen(visited: Visited, change: Callable[[Path], object]) -> None:
    """A new file that a start takes for nothing would be missed until its next change."""
    visited.visit()
    change(visited.folder)
    expected = {os.fsencode(path.name) for path in visited.folder.iterdir()} - set(ROWS)
    assert (visited.visit(), visited.listed) == (expected, 1)


def test_another_folder_in_its_place_is_listed(visited: Visited, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copied with all its times, it still is another one."""
    visited.visit()
    visited.folder.rename(visited.root / "old")
    visited.folder.mkdir()
    monkeypatch.chdir(visited.folder)
    assert (visited.visit(), visited.listed) == (set(), 1)


def test_a_folder_that_has_just_changed_is_no_proof(visited: Visited) -> None:
    """Within one tick of the clock, a second change leaves the times as they are."""
    (visited.folder / "new").touch()
    now = time.time_ns()
    os.utime(visited.folder, ns=(now, now))
    visited.visit()
    assert not visited.table.execute("SELECT * FROM listings").fetchall()


def test_other_rows_are_compared_with_another_listing(visited: Visited) -> None:
    """What was captured since has a row now; what was excluded since has none any more."""
    visited.visit()
    assert (visited.visit([*ROWS, b"excluded"]), visited.listed) == ({b"sub"}, 1)
    assert (visited.visit([b"one"]), visited.listed) == ({b"sub", b"excluded", b"two"}, 1)


def test_where_the_file_system_is_not_known_to_date_folders_all_are_listed(visited: Visited) -> None:
    """It may leave their times alone."""
    for dated in (False, True, False):
        assert (visited.visit(dated=dated), visited.listed) == ({b"sub", b"excluded"}, 1)


def test_a_table_of_an_earlier_version_knows_nothing(visited: Visited) -> None:
    """The first start after an update finds one."""
    visited.table.execute("ALTER TABLE listings RENAME TO other")
    assert set(Listings(visited.table, (b"/", b"0"), os.fsencode(visited.root)).others(KEY, ROWS)) == {
        b"sub",
        b"excluded",
    }
    visited.table.execute("ALTER TABLE other RENAME TO listings")


def test_a_folder_with_very_many_others_is_listed_every_time(
    visited: Visited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The names of a million excluded files would be most of the table."""
    monkeypatch.setattr(listings, "MOST_BYTES", 10)
    for _ in range(2):
        assert (visited.visit(), visited.listed) == ({b"sub", b"excluded"}, 1)


def test_a_damaged_listing_is_none(visited: Visited) -> None:
    """A name that is lost from it would be a folder that nobody watches."""
    folder = visited.folder.stat()
    whole = layout.listing(folder, ROWS, [b"sub", b"excluded"])
    assert layout.others(whole, folder, ROWS) == [b"sub", b"excluded"]
    proven = layout.listing(folder, ROWS, [b"sub", b"excluded"], SEEN, BUNDLES)
    assert layout.proven_others(proven, SEEN, BUNDLES) == [b"sub", b"excluded"]
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        assert layout.others(bytes(damaged), folder, ROWS) is None
        assert layout.others(whole[:place], folder, ROWS) is None
        damaged = bytearray(proven)
        damaged[place] ^= 1
        found = layout.proven_others(bytes(damaged), SEEN, BUNDLES)
        assert found == (None if place >= PROOF_AT else [b"sub", b"excluded"]), (
            "what stands before is not used"
        )
        assert layout.proven_others(proven[:place], SEEN, BUNDLES) is None


def test_what_a_proof_was_kept_with_is_known_without_looking_at_the_folder(visited: Visited) -> None:
    """Nearly all folders are as they were, and each look at one counts."""
    found = Listings(visited.table, (b"/", b"0"), os.fsencode(visited.root))
    assert found.proven_others(KEY, SEEN, BUNDLES) is None
    found.others(KEY, ROWS, SEEN, BUNDLES)
    visited.table.executemany("INSERT OR REPLACE INTO listings VALUES (?, ?)", found.made)
    found = Listings(visited.table, (b"/", b"0"), os.fsencode(visited.root))
    assert set(found.proven_others(KEY, SEEN, BUNDLES) or ()) == {b"sub", b"excluded"}
    unknown = Listings(visited.table, (b"/", b"0"), None)
    assert unknown.proven_others(KEY, SEEN, BUNDLES) is None, "its file system may leave times alone"


def test_what_looks_different_or_has_other_rows_is_not_proven(visited: Visited) -> None:
    """A file that was captured since, or is no longer: its row is what it is compared with."""
    found = Listings(visited.table, (b"/", b"0"), os.fsencode(visited.root))
    found.others(KEY, ROWS, SEEN, BUNDLES)
    visited.table.executemany("INSERT OR REPLACE INTO listings VALUES (?, ?)", found.made)
    found = Listings(visited.table, (b"/", b"0"), os.fsencode(visited.root))
    assert found.proven_others(KEY, memoryview(SEEN.tobytes()[::-1]), BUNDLES) is None
    for rows in ([], BUNDLES[:1], [b"A bundle", b"another"]):
        assert found.proven_others(KEY, SEEN, rows) is None


def test_a_proof_is_kept_with_a_listing_that_is_known(visited: Visited) -> None:
    """Once the files are as their rows say again, nothing has to be listed for it."""
    visited.visit()
    visited.listed = 0
    found = Listings(visited.table, (b"/", b"0"), os.fsencode(visited.root))
    found.others(KEY, ROWS, SEEN, BUNDLES)
    assert (visited.listed, len(found.made)) == (0, 1)


def test_a_listing_without_a_proof_proves_nothing(visited: Visited) -> None:
    """Some of the files were not as their rows say when it was made."""
    visited.visit()
    found = Listings(visited.table, (b"/", b"0"), os.fsencode(visited.root))
    assert found.proven_others(KEY, SEEN, BUNDLES) is None


def test_a_folder_dated_to_any_time_can_be_kept(visited: Visited) -> None:
    """Beyond the year 2262 its nanoseconds need more than 63 bits; before 1970 they are negative."""
    for moment in (2**62, -(2**40), 15_032_385_535 * 10**9):
        os.utime(visited.folder, ns=(moment, moment))
        visited.rest()
        visited.visit()
        assert visited.visit() == {b"sub", b"excluded"}
