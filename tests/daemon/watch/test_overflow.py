"""The kernel's queue runs over: everything is suspect, nothing is lost, and it goes on."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from backtraild.model import Intent
from support.live import live
from support.watching import (
    Watched,
    eventually,
    flood,
    held,
    inodes,
    noticing_barriers,
    overflow,
    tree,
    watched_inodes,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

FOLDERS = 20_000
LOST = "the kernel's queue of events overflowed"


def test_an_overflow_makes_everything_suspect_in_every_workspace(tmp_path: Path):
    """The kernel does not say whose events it dropped."""
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with Watched(tmp_path / "one") as one, Watched(tmp_path / "two", one.hub) as two:
        one.start()
        two.start()
        overflow(one.hub, one.root)
        eventually(lambda: one.dirt.peek() and two.dirt.peek())
        assert one.dirt.take().reason == LOST
        assert two.dirt.take().reason == LOST


def test_what_was_written_during_an_overflow_is_saved_and_said(tmp_path: Path):
    """Changes without events: files, a new folder, a folder moved away, all while nobody could tell."""
    with live(tmp_path) as at:
        (at.root / "old").mkdir()
        (at.root / "old" / "file").write_text("1")
        at.wait_for_disk()
        with held(at.hub):
            flood(at.root)
            (at.root / "late").write_text("no event tells of this")
            (at.root / "new" / "deep").mkdir(parents=True)
            (at.root / "new" / "deep" / "file").write_text("nor of this")
            os.rename(at.root / "old", at.root / "moved")
        at.wait_for_disk()
        eventually(lambda: at.events("recovered"))
        assert LOST in at.events("degraded")[0]["reason"]
        assert at.state == "watching"
        expected = inodes(*tree(at.root), tmp_path / "home/run/cookies")
        assert watched_inodes(at.hub._inotify_fd) == expected
        (at.root / "new" / "deep" / "file").write_text("seen again")
        (at.root / "moved" / "file").write_text("seen again")
        at.wait_for_disk()


def test_a_save_during_an_overflow_holds_everything_written_before_it(tmp_path: Path):
    """The barrier can't be passed then, so a look at everything answers, and `status` says why."""
    with live(tmp_path, quiet=30.0, patience=60.0) as at:
        states = []
        with noticing_barriers(at.hub) as wanted, held(at.hub):
            flood(at.root)
            (at.root / "late").write_text("no event tells of this")
            saving = threading.Thread(target=lambda: states.append(at.save()))
            saving.start()
            assert wanted.wait(10)
        saving.join()
        assert states[0].tree == at.disk()
        assert [told["reason"] for told in at.events("degraded")] == [
            f"Changes were missed: {LOST}; everything is looked at."
        ]
        assert len(at.events("recovered")) == 1


def test_an_overflow_with_twenty_thousand_folders_is_overcome(tmp_path: Path):
    """Other watchers tear all watches down, add them again, overflow again, and never come to rest."""
    root = tmp_path / "work"
    root.mkdir()
    for number in range(200):
        os.mkdir(root / f"a{number}")
    for number in range(FOLDERS):
        os.mkdir(root / f"a{number % 200}" / f"b{number}")
    with live(tmp_path, root) as at:
        before = watched_inodes(at.hub._inotify_fd)
        assert len(before) == FOLDERS + 200 + 2
        start = time.monotonic()
        with held(at.hub):
            flood(root)
            (root / "a7" / "new").mkdir()
            (root / "a7" / "new" / "file").write_text("no event tells of this")
        eventually(lambda: at.events("recovered"), 60)
        print(f"recovered after {time.monotonic() - start:.1f} s")
        checkpoint = at.service.ask(at.id, lambda keeper: keeper.workspace.history.find("@"))
        assert [change.path for change in checkpoint.files_changed] == [b"a7/new/file"]
        assert watched_inodes(at.hub._inotify_fd) == sorted([*before, (root / "a7/new").stat().st_ino])
        assert busy_share(1.5) < 0.05


def busy_share(seconds: float) -> float:
    """Which share of a core this process uses while nothing happens."""
    before, start = time.process_time(), time.monotonic()
    time.sleep(seconds)  # a span to measure, not a wait for something
    return (time.process_time() - before) / (time.monotonic() - start)


def test_overflow_after_overflow_ends(tmp_path: Path):
    """A build that never stops must not keep the daemon from ever making a checkpoint."""
    with live(tmp_path) as at:
        for number in range(4):
            with held(at.hub):
                flood(at.root)
                (at.root / "late").write_text(f"{number}")
            at.wait_for_disk()
        eventually(lambda: at.state == "watching")
        at.service.ask(at.id, lambda keeper: keeper.save(Intent(), allow_empty=True))
        assert at.newest().tree == at.disk()
