"""One watch per captured folder and none elsewhere, whatever happens to the folders."""

import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from backtraild.ignore import IGNORE_FILES, FolderRules
from backtraild.model import Intent
from backtraild.scan import NoObserver, crawl, folders
from backtraild.watch import inotify, kernelqueue
from support.watching import Watched, inodes, tree, watched_inodes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

OPERATIONS = int(os.environ.get("BACKTRAIL_EXAMPLES", "400"))


@pytest.fixture
def watched(tmp_path: Path):
    """A workspace with its watches."""
    with Watched(tmp_path) as found:
        yield found


def make(root: Path, *names: str) -> None:
    """Folders, each with a file in it."""
    for name in names:
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "file.txt").write_text(name)


def test_every_captured_folder_has_one_watch_and_excluded_ones_have_none(watched: Watched):
    """The number of watches is limited, and a package folder would use them all up."""
    make(
        watched.root, "src/deep/deeper", "docs", "node_modules/left-pad/lib", ".git/objects", "sub/.git/refs"
    )
    watched.start()
    watched.check_watches()
    assert b"src/deep/deeper" in watched.watcher.watched


def test_a_folder_is_watched_before_it_is_listed(watched: Watched, monkeypatch: pytest.MonkeyPatch):
    """A file made in between would be in no list and in no event."""
    make(watched.root, "src/deep")
    listed = []

    def list_folder(descriptor: int):
        listed.append(os.fstat(descriptor).st_ino)
        assert listed[-1] in watched.kernel()
        return folders.list_folder(descriptor)

    monkeypatch.setattr("backtraild.scan.scanner.list_folder", list_folder)
    monkeypatch.setattr(sys.modules[crawl.__module__], "list_folder", list_folder)
    watched.start()
    make(watched.root, "new/deep")
    watched.crawl()
    assert sorted(set(listed)) == inodes(*tree(watched.root))


def test_five_thousand_package_folders_get_no_watch_however_they_come(watched: Watched):
    """A package install is where other watchers break down."""
    outside = watched.folder / "outside"
    for number in range(5_000):
        (outside / f"p{number % 50}" / f"q{number}").mkdir(parents=True)
    watched.start()
    os.rename(outside, watched.root / "node_modules")
    watched.crawl()
    watched.save()
    watched.check_watches()
    make(watched.root, "node_modules/later/lib")
    watched.crawl()
    assert watched.seen() == frozenset()
    watched.check_watches()
    os.rename(watched.root / "node_modules", watched.root / "packages")
    watched.save()
    assert len(watched.kernel()) > 5_000
    os.rename(watched.root / "packages", watched.root / "node_modules")
    watched.save()
    watched.check_watches()


@pytest.mark.parametrize("ignore_file", IGNORE_FILES)
def test_changed_ignore_files_add_and_remove_watches_in_their_folder(watched: Watched, ignore_file: bytes):
    """What is excluded from now on needs no watch; what is taken in again must not stay unwatched."""
    make(watched.root, "a/logs/old", "a/src", "logs")
    watched.start()
    rules = watched.root / "a" / os.fsdecode(ignore_file)
    rules.write_text("logs/\n")
    watched.save()
    assert b"a/logs" not in watched.watcher.watched
    assert b"logs" in watched.watcher.watched
    assert len(watched.kernel()) == len(watched.watcher.watched) == 4
    (watched.root / "a/logs/unseen").write_text("excluded")
    assert watched.seen() == frozenset()
    rules.unlink()
    watched.check_tree(watched.save())
    watched.check_watches()
    (watched.root / "a/logs/old/seen").write_text("again")
    assert watched.seen() == {b"a/logs/old/seen"}


@pytest.mark.parametrize("ignore_file", IGNORE_FILES)
def test_an_ignore_file_that_excludes_itself_is_heard_when_it_changes(watched: Watched, ignore_file: bytes):
    """`.*` in a .gitignore is common, and git reads the file all the same."""
    make(watched.root, "out")
    rules = watched.root / os.fsdecode(ignore_file)
    rules.write_text(".*\n")
    watched.start()
    rules.write_text(".*\nout/\n")
    checkpoint = watched.save()
    assert checkpoint.number == 2
    assert watched.watcher.watched == {b""}
    rules.write_text(".*\n")
    watched.save()
    assert watched.watcher.watched == {b"", b"out"}


def test_a_folder_moved_within_the_workspace_reports_under_its_new_name(watched: Watched):
    """Its watch moves along with it, and so must what is reported."""
    make(watched.root, "a/x/deep", "b")
    watched.start()
    os.rename(watched.root / "a/x", watched.root / "b/y")
    watched.check_tree(watched.save())
    watched.check_watches()
    (watched.root / "b/y/deep/file.txt").write_text("changed after the move")
    assert watched.seen() == {b"b/y/deep/file.txt"}


def test_a_folder_moved_out_reports_nothing_any_more(watched: Watched):
    """It is no part of the workspace, and a watch on it would be held for ever."""
    make(watched.root, "a/x/deep")
    watched.start()
    outside = watched.folder / "outside"
    os.rename(watched.root / "a/x", outside)
    watched.check_tree(watched.save())
    watched.check_watches()
    (outside / "deep/file.txt").write_text("elsewhere")
    assert watched.seen() == frozenset()


def test_a_folder_that_takes_the_place_of_one_moved_out_frees_the_old_watch(watched: Watched):
    """`mv build /tmp; mkdir build` in a loop would use up all watches of the user."""
    make(watched.root, "x/deep")
    watched.start()
    for number in range(5):
        os.rename(watched.root / "x", watched.folder / f"outside{number}")
        make(watched.root, "x/deep")
        watched.crawl()
        watched.check_tree(watched.save())
        watched.check_watches()
    (watched.folder / "outside3/deep/file.txt").write_text("elsewhere")
    assert watched.seen() == frozenset()
    (watched.root / "x/deep/file.txt").write_text("here")
    assert watched.seen() == {b"x/deep/file.txt"}


def test_two_folders_that_change_places_report_under_their_new_names(watched: Watched):
    """Deploy scripts exchange `current` and `next`."""
    make(watched.root, "x/of-x", "y/of-y")
    watched.start()
    for old, new in (("x", "z"), ("y", "x"), ("z", "y")):
        os.rename(watched.root / old, watched.root / new)
    watched.check_tree(watched.save())
    watched.check_watches()
    (watched.root / "x/of-y/file.txt").write_text("1")
    (watched.root / "y/of-x/file.txt").write_text("2")
    assert watched.seen() == {b"x/of-y/file.txt", b"y/of-x/file.txt"}


def test_a_folder_moved_over_an_empty_one_of_that_name_is_watched(watched: Watched):
    """The kernel replaces an empty folder without a word about it."""
    make(watched.root, "full")
    (watched.root / "empty").mkdir()
    watched.start()
    os.rename(watched.root / "full", watched.root / "empty")
    watched.check_tree(watched.save())
    watched.check_watches()


def test_a_tree_moved_in_is_watched_to_its_depth_and_captured(watched: Watched):
    """One event tells of the top; the rest has to be found."""
    make(watched.folder / "outside", "1/2/3/4", "node_modules/x")
    watched.start()
    os.rename(watched.folder / "outside", watched.root / "inside")
    watched.crawl()
    watched.check_watches()
    (watched.root / "inside/1/2/3/4/file.txt").write_text("at once")
    assert watched.watcher.barrier(10)
    taken = watched.dirt.take()
    assert taken.paths == {b"inside", b"inside/1/2/3/4/file.txt"}
    watched.dirt.put_back(taken)
    checkpoint = watched.save()
    assert [change.path for change in checkpoint.files_changed] == [b"inside/1/2/3/4/file.txt"]
    watched.check_watches()


def test_a_deleted_and_recreated_folder_is_watched_anew(watched: Watched):
    """`rm -rf build && mkdir build` is every build."""
    make(watched.root, "build/out")
    watched.start()
    for _ in range(3):
        shutil.rmtree(watched.root / "build")
        make(watched.root, "build/out")
        watched.crawl()
        watched.check_tree(watched.save())
        watched.check_watches()
    (watched.root / "build/out/file.txt").write_text("last")
    assert watched.seen() == {b"build/out/file.txt"}


def test_a_folder_that_lies_in_two_workspaces_reports_to_both(tmp_path: Path):
    """The kernel gives it one watch. Watching an inner folder must not make the outer one deaf in it."""
    (tmp_path / "outer").mkdir()
    (tmp_path / "inner").mkdir()
    with Watched(tmp_path / "outer") as outer:
        make(outer.root, "lib/src", "app")
        outer.start()
        with Watched(tmp_path / "inner", outer.hub, outer.root / "lib") as inner:
            inner.start()
            (outer.root / "lib/src/file.txt").write_text("seen by both")
            assert outer.seen() == {b"lib/src/file.txt"}
            assert inner.seen() == {b"src/file.txt"}
            assert outer.kernel() == inodes(*tree(outer.root))
        (outer.root / "lib/src/file.txt").write_text("seen by the one that is left")
        assert outer.seen() == {b"lib/src/file.txt"}
        assert outer.kernel() == inodes(*tree(outer.root))
        with Watched(tmp_path / "inner", outer.hub, outer.root / "lib") as inner:
            inner.workspace.save(Intent(), allow_empty=True)
            outer.watcher.close()
            inner.seen()
            (outer.root / "lib/src/file.txt").write_text("the other way round")
            assert inner.seen() == {b"src/file.txt"}


def test_excluded_names_in_watched_folders_are_not_even_hints(watched: Watched):
    """A log that is written all the time must not keep the daemon awake."""
    make(watched.root, "app")
    (watched.root / ".gitignore").write_text("*.log\ncache/\n")
    watched.start()
    for number in range(50):
        (watched.root / "app" / "server.log").write_text(f"{number}")
        (watched.root / "app" / "cache").mkdir(exist_ok=True)
        (watched.root / "app" / "cache" / "entry").write_text(f"{number}")
    assert watched.seen() == frozenset()
    assert watched.dirt.peek() is None
    (watched.root / "app" / "cache").joinpath("entry").unlink()
    (watched.root / "app" / "cache").rmdir()
    (watched.root / "app" / "cache").write_text("a file of that name is not excluded")
    assert watched.seen() == {b"app/cache"}


def test_looking_at_everything_causes_no_events(watched: Watched):
    """A daemon that reacts to its own reading never comes to rest."""
    make(watched.root, "a/b/c", "d")
    watched.start()
    handled = []
    handle = watched.hub.handle_event
    watched.hub.handle_event = lambda event: (handled.append(event), handle(event))  # type: ignore[method-assign]
    watched.workspace.save(Intent(), allow_empty=True)
    with watched.workspace._recorder.look():
        pass
    assert watched.watcher.barrier(10)
    assert [event for event in handled if event.wd != watched.hub._cookie_watch] == []


def test_the_table_of_watches_does_not_leak(watched: Watched):
    """After a month of work the daemon holds as many watches as there are folders, not one more."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chooser = random.Random(seed)
    watched.start()
    outside = watched.folder / "outside"
    outside.mkdir()
    for step in range(OPERATIONS):
        disturb(watched.root, outside, chooser)
        if chooser.random() < 0.4:
            watched.crawl()
        if chooser.random() < 0.2 or step == OPERATIONS - 1:
            watched.check_tree(watched.save()) if chooser.random() < 0.2 else watched.save()
            watched.check_watches()
            assert len(watched.hub._targets) == len(watched.watcher.watched)
            assert len(watched.watcher._known) == len(watched.watcher.watched)
    watched.check_tree(watched.save())


def disturb(root: Path, outside: Path, chooser: random.Random) -> None:
    """Make, move, exchange or remove a folder, across the border of the workspace too."""
    inside = [folder for folder in tree(root, ()) if folder != root]
    target = chooser.choice([root, *inside]) / chooser.choice("abc")
    stored = sorted(outside.iterdir())
    action = chooser.choice(["make", "make", "make", "move", "remove", "out", "in", "file"])
    if action == "make":
        make(target, chooser.choice([".", "x/y"]))
    elif action == "move" and inside and not target.exists():
        source = chooser.choice(inside)
        if not target.is_relative_to(source):
            os.rename(source, target)
    elif action == "remove" and inside:
        shutil.rmtree(chooser.choice(inside))
    elif action == "out" and inside:
        os.rename(chooser.choice(inside), outside / f"{len(stored)}-{chooser.randrange(10**9)}")
    elif action == "in" and stored and not target.exists():
        os.rename(chooser.choice(stored), target)
    elif action == "file" and not target.exists():
        target.write_text("file")
        target.unlink()


def test_a_closed_watcher_gives_all_its_watches_back(tmp_path: Path):
    """A folder that is not watched any more must cost nothing."""
    with Watched(tmp_path) as watched:
        make(watched.root, "a/b/c")
        watched.start()
        descriptor = watched.hub._inotify_fd
        watched.watcher.close()
        assert watched_inodes(descriptor) == inodes(watched.cookies)


def test_stopping_closes_every_descriptor(tmp_path: Path):
    """An embedding program may start and stop a service many times."""
    before = sorted(os.listdir("/proc/self/fd"))
    for number in range(3):
        hub = inotify.InotifyHub(str(tmp_path / str(number)))
        assert hub.barrier(10)
        hub.stop_reading()
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_programs_that_the_daemon_starts_inherit_no_watches(watched: Watched):
    """git, run for maintenance, must not hold the descriptor open after the daemon is gone."""
    assert "inotify" in os.readlink(f"/proc/self/fd/{watched.hub._inotify_fd}")
    listed = subprocess.run(["ls", "-l", "/proc/self/fd"], close_fds=False, capture_output=True, check=True)
    assert b"inotify" not in listed.stdout


def test_a_reader_that_stumbles_goes_on_and_suspects_everything(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
):
    """One event that can't be handled must not be the end of all watching."""
    watched.start()
    monkeypatch.setattr(kernelqueue, "_READ_AGAIN_SECONDS", 0.0)
    handle = watched.hub.handle_event

    def stumble(event):
        watched.hub.handle_event = handle  # type: ignore[method-assign]
        raise RuntimeError("stumbled")

    watched.hub.handle_event = stumble  # type: ignore[method-assign]
    (watched.root / "file").write_text("1")
    assert watched.watcher.barrier(10)
    assert watched.dirt.take().reason == "reading events failed"
    watched.seen()
    (watched.root / "file").write_text("2")
    assert watched.seen() == {b"file"}


@pytest.mark.parametrize("at", [0, 2])
def test_a_crawl_that_is_interrupted_leaves_no_folder_open(tmp_path: Path, at: int):
    """A daemon that is stopped in the middle of it may be part of a program that goes on."""
    make(tmp_path, "a/b/c")

    class Interrupting(NoObserver):
        left = at

        def enter(self, *_: object) -> None:
            if self.left == 0:
                raise InterruptedError
            self.left -= 1

    before = os.listdir("/proc/self/fd")
    with pytest.raises(InterruptedError):
        crawl(os.fsencode(tmp_path), FolderRules.for_root(), b"", Interrupting())
    assert os.listdir("/proc/self/fd") == before


def test_an_observer_that_wants_to_know_nothing_can_be_told_everything(tmp_path: Path):
    """The library works without a watcher."""
    nobody = NoObserver()
    nobody.enter(b"", 0)
    nobody.shut_out(b"", "closed")
    nobody.leave(b"", frozenset())
