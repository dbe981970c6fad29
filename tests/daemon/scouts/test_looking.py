"""The comparison of a stretch: folders that are proven to be as they were are not compared, all others are."""

import os
import sqlite3
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild import ticks
from backtraild.scouts import kernel, looking
from backtraild.scouts.errand import open_table
from backtraild.scouts.listings import Listings
from backtraild.scouts.looking import Found
from backtraild.scouts.sights import Sights
from support.project import Project
from support.watching import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="scouts are Linux's")

EVERYTHING = b"/", b"0"


class Scouted:
    """A workspace that has been looked at, and a scout that comes again and again."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with Project(folder) as project:
            self.root = project.root
            for number in range(3):
                (self.root / f"in/unit{number}/sub").mkdir(parents=True)
                (self.root / f"in/unit{number}/file").write_text(f"{number}\n")
            self.rest()
            project.workspace.start()
            project.save(allow_empty=True)
            self.table = os.path.join(project.store, "state.db")
        self.queue = kernel.open_queue()
        self.compared: list[bytes] = []
        compare = looking._compare

        def note(root: bytes, visit: looking._Visit, *rest: object) -> None:
            self.compared.append(visit.key)
            compare(root, visit, *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(looking, "_compare", note)
        monkeypatch.chdir(folder)  # a scout changes it

    def look(self, stretch: tuple[bytes, bytes] = EVERYTHING) -> Found:
        """One start; what it has made is kept for the next one."""
        self.compared.clear()
        table = open_table(self.table)
        root = os.fsencode(self.root)
        found = looking.look(root, table, stretch, self.queue, Listings(table, stretch, root), Sights())
        table.close()
        with sqlite3.connect(self.table) as connection:
            connection.executemany("INSERT OR REPLACE INTO listings VALUES (?, ?)", found.listings)
        connection.close()
        return found

    def rest(self) -> None:
        """Until the times of all folders are proofs."""
        newest = max(path.stat().st_ctime_ns for path in self.root.rglob("*"))
        eventually(lambda: time.time_ns() > newest + 2 * ticks.TICK_NS)


@pytest.fixture
def scouted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scouted]:
    made = Scouted(tmp_path, monkeypatch)
    yield made
    os.close(made.queue)


def test_a_folder_is_compared_at_the_first_start_and_then_only_when_something_has_changed(
    scouted: Scouted,
) -> None:
    """A start of a hundred thousand files that did not change is to take little longer than git's look at them."""
    everything = [b"/", b"/in/", b"/in/unit0/", b"/in/unit1/", b"/in/unit2/"]
    for expected in (everything, []):
        found = scouted.look()
        assert scouted.compared == expected
        assert not found.differing
        units = {b"in/unit%d" % number for number in range(3)}
        assert set(found.others) == {b"in", *units, *(unit + b"/sub" for unit in units)}
        assert found.folders == [key[1:-1] for key in everything]


def test_only_the_folder_of_a_changed_file_is_compared(scouted: Scouted) -> None:
    """A hundred changed files are no reason to compare all others, now or at the start after that."""
    scouted.look()
    (scouted.root / "in/unit1/file").write_text("changed\n")
    for _ in range(2):  # its row stays what it was
        found = scouted.look()
        assert scouted.compared == [b"/in/unit1/"]
        assert found.differing == [b"in/unit1/file"]


def test_a_folder_that_is_gone_is_a_hint(scouted: Scouted) -> None:
    """So are all that were in it, and the folder around it has other times."""
    scouted.look()
    for path in ("in/unit1/file", "in/unit1/sub", "in/unit1"):
        at = scouted.root / path
        at.unlink() if at.is_file() else at.rmdir()
    found = scouted.look()
    assert found.differing == [b"in/unit1"]
    assert b"in/unit1" not in found.folders
    assert scouted.compared == [b"/in/"]


@pytest.mark.parametrize("instead", ["nothing", "a symlink", "a file"])
def test_a_root_that_is_gone_is_a_hint_at_everything(scouted: Scouted, tmp_path: Path, instead: str) -> None:
    """Its disk may not be mounted; what scouts find in other workspaces counts all the same."""
    scouted.look()
    scouted.root.rename(tmp_path / "elsewhere")
    if instead == "a symlink":
        scouted.root.symlink_to(tmp_path / "elsewhere")
    elif instead == "a file":
        scouted.root.touch()
    table = open_table(scouted.table)
    stretch, root = EVERYTHING, os.fsencode(scouted.root)
    found = looking.look(root, table, stretch, scouted.queue, Listings(table, stretch, None), Sights())
    table.close()
    assert found.differing == [b""]
    assert found.folders == []


def test_a_symlink_in_the_place_of_a_folder_is_a_hint_though_all_behind_it_is_as_it_was(
    scouted: Scouted, tmp_path: Path
) -> None:
    """Nothing behind it belongs to the workspace any more."""
    scouted.look()
    (scouted.root / "in/unit1").rename(tmp_path / "elsewhere")
    (scouted.root / "in/unit1").symlink_to(tmp_path / "elsewhere")
    found = scouted.look()
    assert found.differing == [b"in/unit1"]
    assert b"in/unit1" not in found.folders


def test_a_folder_exchanged_between_two_looks_at_it_is_a_hint(
    scouted: Scouted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its watch is that of the folder that was there before."""
    compare = looking._compare

    def exchange(root: bytes, visit: looking._Visit, *rest: object) -> None:
        if visit.key == b"/in/unit1/":
            (scouted.root / "in/unit1").rename(scouted.root / "away")
            (scouted.root / "in/unit1").mkdir()
        compare(root, visit, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(looking, "_compare", exchange)
    assert b"in/unit1" in scouted.look().differing


def test_folders_that_only_lead_to_a_stretch_are_compared_where_nobody_else_does(scouted: Scouted) -> None:
    """What is new in one of them has no row in any stretch."""
    (scouted.root / "in/new").write_text("new\n")
    found = scouted.look((b"/in/unit2/", b"/in/unit3/"))
    assert scouted.compared == [b"/", b"/in/", b"/in/unit2/"]
    assert b"in/new" in found.others


def test_a_damaged_bundle_is_no_proof(scouted: Scouted) -> None:
    """What can't be compared can't be vouched for, and its names still are those of the files."""
    scouted.look()
    with sqlite3.connect(scouted.table) as connection:
        connection.execute(
            "UPDATE files SET bundle = CAST(substr(bundle, 1, 10) || x'00' || substr(bundle, 12) AS BLOB)"
            " WHERE folder = ?",
            (b"/in/unit1/",),
        )
    connection.close()
    with pytest.raises(ValueError, match="checksum"):
        scouted.look()
