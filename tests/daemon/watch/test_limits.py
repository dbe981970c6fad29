"""More folders than the kernel gives watches for, and folders that may not be read."""

import ctypes
import errno
import os
import sys
from pathlib import Path

import pytest

from backtraild import timers
from backtraild.watch import inotify
from support.denied import deny
from support.limited import run_limited
from support.live import live
from support.watching import Watched, eventually, inodes, tree, watched_inodes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

SCENARIOS = "support.limited_scenarios"


def test_folders_beyond_the_limit_are_looked_at_on_a_timer_until_the_limit_is_raised(tmp_path: Path):
    """The user must learn of the limit and how to raise it, and lose nothing until then."""
    run_limited(SCENARIOS, "too_many_folders", tmp_path)


def test_a_daemon_that_gets_no_watch_at_all_works_all_the_same(tmp_path: Path):
    """An editor with a large project may have used up the limit before the daemon starts."""
    run_limited(SCENARIOS, "no_watch_at_all", tmp_path)


def test_without_inotify_everything_is_looked_at_from_time_to_time(tmp_path: Path):
    """The number of descriptors is limited as well; failing to start would protect nothing."""
    run_limited(SCENARIOS, "no_instance", tmp_path)


def test_a_folder_whose_disk_is_unmounted_is_watched_as_what_it_is_then(tmp_path: Path):
    """The kernel drops the watch with the disk; what is written under the mount point would go unseen."""
    run_limited(SCENARIOS, "unmounted_below", tmp_path)


def test_a_workspace_whose_disk_is_unmounted_is_not_recorded_as_deleted(tmp_path: Path):
    """The files are not gone, they are not there now."""
    run_limited(SCENARIOS, "unmounted_root", tmp_path)


def refuse_watches(monkeypatch: pytest.MonkeyPatch, names: set[str], code: int) -> None:
    """Let the kernel refuse watches of folders with these names."""
    add = inotify.inotify_add_watch

    def refusing(descriptor: int, path: bytes, mask: int) -> int:
        if os.path.basename(os.path.realpath(os.fsdecode(path))) in names:
            ctypes.set_errno(code)
            return -1
        return int(add(descriptor, path, mask))

    monkeypatch.setattr(inotify, "inotify_add_watch", refusing)


@pytest.mark.parametrize(
    ("code", "reason"),
    [(errno.ENOSPC, "sudo sysctl fs.inotify.max_user_watches="), (errno.EACCES, "Permission denied")],
)
def test_a_folder_that_gets_no_watch_is_named_with_the_reason_until_it_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, reason: str
):
    """It is captured all the same, and what is below it is watched as ever."""
    refused = {"b"}
    refuse_watches(monkeypatch, refused, code)
    with Watched(tmp_path) as watched:
        (watched.root / "a/b/c").mkdir(parents=True)
        watched.start()
        assert watched.watcher.watched == {b"", b"a", b"a/b/c"}
        assert list(watched.watcher.unwatched) == [b"a/b"]
        assert reason in watched.watcher.unwatched[b"a/b"]
        refused.clear()
        watched.dirt.mark(b"a/b")
        watched.save()
        watched.check_watches()


def test_a_save_looks_into_folders_that_have_no_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What was written before a save is in it, also where no event tells of it; the next look there is an hour off."""
    monkeypatch.setattr(timers, "UNWATCHED_SECONDS", 3600.0)
    refuse_watches(monkeypatch, {"b"}, errno.ENOSPC)
    (tmp_path / "work/a/b").mkdir(parents=True)
    with live(tmp_path, quiet=30.0, patience=60.0) as at:
        at.save()
        (at.root / "a/b/file").write_text("no event tells of this")
        assert at.save().tree == at.disk()


def test_a_watch_that_is_refused_when_it_is_renewed_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The folder at this path is another one now; the old one's events would be taken for its own."""
    refused: set[str] = set()
    refuse_watches(monkeypatch, refused, errno.ENOSPC)
    with Watched(tmp_path) as watched:
        (watched.root / "a").mkdir()
        watched.start()
        os.rename(watched.root / "a", tmp_path / "outside")
        (watched.root / "a").mkdir()
        refused.add("a")
        watched.save()
        assert watched.kernel() == inodes(watched.root)
        assert list(watched.watcher.unwatched) == [b"a"]
        (watched.root / "a").rmdir()
        watched.save()
        assert not watched.watcher.unwatched


def test_a_folder_that_may_not_be_read_degrades_and_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Its files are kept as they were, and the user is told which reason keeps them from being captured."""
    monkeypatch.setattr(timers, "UNWATCHED_SECONDS", 0.1)
    with live(tmp_path) as at:
        (at.root / "secret/deep").mkdir(parents=True)
        (at.root / "secret/deep/file").write_text("1")
        at.wait_for_disk()
        with open(at.root / "secret/deep/file", "w") as file:  # opened while that is still allowed
            at.wait_for_disk()
            captured = at.newest().tree
            allow = deny(monkeypatch, at.root / "secret")
            file.write("2")
        (at.root / "secret").touch()
        eventually(lambda: at.state == "degraded")
        assert at.reasons == "1 folder can't be watched: Permission denied"
        assert at.save().tree == captured
        allow()
        eventually(lambda: at.state == "watching")
        at.wait_for_disk()
        assert watched_inodes(at.hub._inotify_fd) == inodes(*tree(at.root), tmp_path / "home/run/cookies")
