"""Starts with scouts: nothing that changed is missed, nothing is looked at twice, and nothing of them is left."""

import os
import shutil
import sqlite3
import sys
from pathlib import Path

import pytest

from backtrail import CheckpointConfig, Client, UnknownPath, Workspace
from support.process import Process
from support.scouted import RELIED, scouted
from support.vitals import descriptors
from support.walk import tree_id
from support.watching import eventually
from torture.campaigns import starting
from torture.short import rounds

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="scouts are Linux's")


def make_parts(root: Path) -> None:
    """Some folders with files, in folders without any."""
    for number in range(12):
        part = root / f"part{number % 3}" / f"unit{number}"
        part.mkdir(parents=True)
        (part / "one.txt").write_text(f"{number}\n")
        (part / "two.txt").write_text(f"{number}\n" * 2)


class Ground:
    """A workspace whose daemon always sends scouts."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", folder / "work"
        make_parts(self.root)
        (self.root / "top.txt").write_text("beside folders that many stretches lead through\n")
        with self.started() as workspace:
            assert self.relied() == 0
            workspace.save("before", allow_empty=True)

    def start(self) -> Process:
        return scouted(self.home)

    def started(self, **settings: object) -> "Started":
        return Started(self, settings)

    def relied(self) -> int:
        """How many starts have relied on their scouts."""
        return self.log().count(RELIED)

    def log(self) -> str:
        return (self.home / "data" / "daemon.log").read_text()


class Started:
    """In this block a daemon watches the ground."""

    def __init__(self, ground: Ground, settings: dict[str, object]) -> None:
        self._ground, self._settings = ground, settings

    def __enter__(self) -> Workspace:
        self._daemon = self._ground.start()
        self._client = Client(home=self._ground.home, autostart=False)
        return self._client.watch(self._ground.root, config=CheckpointConfig(quiet=0.01, **self._settings))

    def __exit__(self, *_: object) -> None:
        self._client.close()
        assert self._daemon.end() == 0


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def newest(workspace: Workspace) -> str:
    return workspace.list(limit=1)[0].tree


def test_a_start_after_which_nothing_changed_makes_no_checkpoint(ground: Ground) -> None:
    """Scouts find everything as it was, and nothing else is looked at."""
    with ground.started() as workspace:
        assert len(workspace.list()) == 2
    assert ground.relied() == 1
    assert "and 0 paths in them" in ground.log()


def change_a_file(root: Path) -> None:
    (root / "part0/unit0/one.txt").write_text("another\n")


def change_it_with_its_old_time(root: Path) -> None:
    file = root / "part0/unit0/one.txt"
    before = file.stat()
    file.write_text("X\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def make_a_file(root: Path) -> None:
    (root / "part1/unit1/three.txt").write_text("new\n")


def make_a_file_where_there_were_only_folders(root: Path) -> None:
    (root / "part2/file.txt").write_text("new\n")
    (root / "file.txt").write_text("new\n")


def delete_a_file(root: Path) -> None:
    (root / "part1/unit1/one.txt").unlink()


def make_it_executable(root: Path) -> None:
    (root / "part1/unit1/one.txt").chmod(0o755)


def make_folders(root: Path) -> None:
    (root / "part1/unit1/deep/deeper").mkdir(parents=True)
    (root / "part1/unit1/deep/deeper/file").write_text("deep\n")


def delete_a_folder(root: Path) -> None:
    shutil.rmtree(root / "part1/unit1")


def delete_a_folder_of_folders(root: Path) -> None:
    shutil.rmtree(root / "part1")


def move_a_folder(root: Path) -> None:
    (root / "part1").rename(root / "part2/inside")


def exchange_two_folders(root: Path) -> None:
    (root / "part1").rename(root / "elsewhere")
    (root / "part2").rename(root / "part1")
    (root / "elsewhere").rename(root / "part2")


def put_a_symlink_in_place_of_a_folder(root: Path) -> None:
    """Behind it, everything is as it was."""
    outside = Path(f"{root.parent}-outside-1")
    (root / "part1").rename(outside)
    (root / "part1").symlink_to(outside)


def put_a_symlink_in_place_of_a_folder_with_files(root: Path) -> None:
    outside = Path(f"{root.parent}-outside-2")
    (root / "part1/unit1").rename(outside)
    (root / "part1/unit1").symlink_to(outside)


def put_a_file_in_place_of_a_folder(root: Path) -> None:
    shutil.rmtree(root / "part1/unit1")
    (root / "part1/unit1").write_text("a file\n")


def put_a_folder_in_place_of_a_file(root: Path) -> None:
    (root / "part1/unit1/one.txt").unlink()
    (root / "part1/unit1/one.txt").mkdir()
    (root / "part1/unit1/one.txt/file").write_text("deep\n")


def put_a_copy_in_place_of_a_file(root: Path) -> None:
    file = root / "part1/unit1/one.txt"
    shutil.copy2(file, root / "copy")
    (root / "copy").replace(file)
    file.with_name("two.txt").write_text("so that something changed\n")


CHANGES = [
    change_a_file,
    change_it_with_its_old_time,
    make_a_file,
    make_a_file_where_there_were_only_folders,
    delete_a_file,
    make_it_executable,
    make_folders,
    delete_a_folder,
    delete_a_folder_of_folders,
    move_a_folder,
    exchange_two_folders,
    put_a_symlink_in_place_of_a_folder,
    put_a_symlink_in_place_of_a_folder_with_files,
    put_a_file_in_place_of_a_folder,
    put_a_folder_in_place_of_a_file,
    put_a_copy_in_place_of_a_file,
]


def test_what_changed_meanwhile_is_in_a_checkpoint_and_what_changes_then_too(ground: Ground) -> None:
    """Scouts give hints; the watches that they have added tell of the rest."""
    for change in CHANGES:
        make_parts(ground.root / change.__name__)
    with ground.started():
        pass
    for change in CHANGES:
        change(ground.root / change.__name__)
    with ground.started() as workspace:
        assert newest(workspace) == tree_id(ground.root)
        assert ground.relied() == 2
        for file in [path for path in sorted(ground.root.rglob("*.txt")) if path.is_file()]:
            file.write_text("later\n")
        eventually(lambda: newest(workspace) == tree_id(ground.root), why="a change was not noticed")


def kept_listings(ground: Ground) -> dict[bytes, bytes]:
    with sqlite3.connect(f"file:{rows(ground)}?mode=ro", uri=True) as connection:
        found = dict(connection.execute("SELECT folder, listing FROM listings"))
    connection.close()
    return found


def test_a_folder_that_became_empty_is_watched_after_a_start_that_did_not_list_the_one_around_it(
    ground: Ground,
) -> None:
    """Nothing is captured in it and nothing leads to it but a listing of an earlier start."""
    with ground.started():
        eventually(lambda: b"/part1/" in kept_listings(ground))
    before = kept_listings(ground)
    with ground.started() as workspace:
        for file in (ground.root / "part1/unit1").iterdir():
            file.unlink()
        eventually(lambda: newest(workspace) == tree_id(ground.root))
    with ground.started() as workspace:
        (ground.root / "part1/unit1/new.txt").write_text("new\n")
        eventually(lambda: newest(workspace) == tree_id(ground.root), why="a change was not noticed")
    assert kept_listings(ground)[b"/part1/"] == before[b"/part1/"]
    assert ground.relied() == 3


def test_what_comes_between_two_starts_is_found_though_folders_were_listed_before(ground: Ground) -> None:
    """A name that comes or goes dates its folder anew."""
    with ground.started():
        eventually(lambda: b"/part1/unit1/" in kept_listings(ground))
    for change in (make_a_file, make_a_file_where_there_were_only_folders, make_folders, move_a_folder):
        change(ground.root)
        with ground.started() as workspace:
            assert newest(workspace) == tree_id(ground.root), change.__name__
    assert ground.relied() == 5


def test_listings_of_folders_that_are_gone_do_not_add_up(ground: Ground) -> None:
    """A build folder with another name every day would fill the table in the end."""
    for number in range(4):
        folder = ground.root / f"build{number}"
        make_parts(folder)
        with ground.started():  # captured
            pass
        with ground.started():  # listed
            pass
        assert any(key.startswith(b"/build%d/" % number) for key in kept_listings(ground))
        shutil.rmtree(folder)
    assert not any(key.startswith(b"/build0/") for key in kept_listings(ground))


def test_ignore_files_hold_for_what_scouts_never_look_at(ground: Ground) -> None:
    """Changed while nobody watched, they decide anew; unchanged, they hold for what happens later."""
    (ground.root / "part0/.gitignore").write_text("*.log\n")
    with ground.started():
        pass
    (ground.root / "part1/.gitignore").write_text("one.txt\n")
    with ground.started() as workspace:
        (ground.root / "part0/unit0/some.log").write_text("ignored\n")
        (ground.root / "part0/unit0/one.txt").write_text("seen\n")
        eventually(lambda: workspace.read("@", "part0/unit0/one.txt") == b"seen\n")
        newest = workspace.list(limit=1)[0]
        assert [change.path for change in newest.files_changed] == ["part0/unit0/one.txt"]
        with pytest.raises(UnknownPath):
            workspace.read("@", "part1/unit1/one.txt")
    assert ground.relied() == 2


def test_rounds_of_the_long_run(tmp_path: Path) -> None:
    """Random changes before, during and after starts, compared with git's own look at the folder."""
    counts = rounds(starting, "start", (0,), tmp_path)
    assert counts["starts that relied on scouts"] > 2


def rows(ground: Ground) -> Path:
    (found,) = (ground.home / "data/workspaces").glob("*/state.db")
    return found


def test_a_damaged_row_sends_the_daemon_to_look_for_itself(ground: Ground) -> None:
    """What scouts can't compare they can't vouch for."""
    with sqlite3.connect(rows(ground)) as connection:
        connection.execute("UPDATE files SET bundle = x'00' WHERE folder = CAST('/part1/unit1/' AS BLOB)")
    connection.close()
    change_a_file(ground.root)
    with ground.started() as workspace:
        assert newest(workspace) == tree_id(ground.root)
    assert ground.relied() == 0


def test_another_version_or_other_rules_look_at_everything_once(ground: Ground) -> None:
    """What was left out by the old ones may be captured by the new ones; scouts compare with rows alone."""
    with sqlite3.connect(rows(ground)) as connection:
        connection.execute("UPDATE facts SET value = 'another' WHERE name = 'looked_with'")
    connection.close()
    for relied in (0, 1):
        with ground.started():
            assert ground.relied() == relied


def test_what_changed_before_a_start_waits_where_nothing_is_saved_by_itself(ground: Ground) -> None:
    """A workspace that is paused stays so; whoever saves then has everything."""
    with ground.started() as workspace:
        workspace.pause()
    change_a_file(ground.root)
    delete_a_folder(ground.root)
    with ground.started() as workspace:
        assert ground.relied() == 2
        assert len(workspace.list()) == 2
        make_a_file_where_there_were_only_folders(ground.root)
        assert workspace.save().tree == tree_id(ground.root)


def test_a_workspace_inside_another_is_watched_in_both(ground: Ground) -> None:
    """The kernel gives a folder one watch, whoever asks for it."""
    inner = ground.root / "part1"
    with ground.started() as workspace:
        workspace.client.watch(inner, config=CheckpointConfig(quiet=0.01))
    with ground.started() as workspace:
        assert ground.relied() == 3
        inside = workspace.client.workspace(inner)
        (inner / "unit1/one.txt").write_text("later\n")
        eventually(lambda: newest(workspace) == tree_id(ground.root))
        eventually(lambda: newest(inside) == tree_id(inner))


def test_no_scout_is_left_and_no_descriptor(ground: Ground) -> None:
    """They are gone when the daemon is ready, and so is what it shared with them."""
    with ground.start() as daemon:
        assert ground.relied() == 1
        eventually(lambda: not Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split())
        open_now = list(descriptors(daemon.pid))
        assert sum("inotify" in name for name in open_now) == 1
        assert not [name for name in open_now if "memfd" in name]
        daemon.end()
