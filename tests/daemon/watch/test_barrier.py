"""Save is a barrier: what was written before it is in it."""

import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed
from backtraild.model import Intent
from support.live import live
from support.watching import Watched, flood, held, noticing_barriers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

WRITER = """
import os, random, sys
root, seed = sys.argv[1], int(sys.argv[2])
chooser = random.Random(seed)
for line in sys.stdin:
    names = [f"d{chooser.randrange(8)}/f{chooser.randrange(200)}" for _ in range(int(line))]
    for name in names:
        with open(os.path.join(root, name), "a") as file:
            file.write("x")
    print(" ".join(names), flush=True)
"""


@pytest.fixture
def watched(tmp_path: Path):
    """A workspace with eight folders, watched."""
    with Watched(tmp_path) as found:
        for number in range(8):
            (found.root / f"d{number}").mkdir()
        found.start()
        yield found


def test_everything_another_process_wrote_before_is_marked(watched: Watched):
    """An agent writes its files and asks for a checkpoint: a file that is missing from it is lost work."""
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    chooser = random.Random(seed)
    command = [sys.executable, "-c", WRITER, str(watched.root), str(seed)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin
        assert writer.stdout
        for _ in range(60):
            writer.stdin.write(f"{chooser.randrange(1, 150)}\n")
            writer.stdin.flush()
            written = {os.fsencode(name) for name in writer.stdout.readline().split()}
            assert watched.watcher.barrier(10)
            assert watched.dirt.take().paths == written
        writer.stdin.close()


def test_barriers_of_several_workspaces_do_not_wait_for_each_other(watched: Watched):
    """Each worker has its own; all share one queue."""
    answers: list[bool] = []
    threads = [
        threading.Thread(target=lambda: answers.extend(watched.hub.barrier(10) for _ in range(50)))
        for _ in range(8)
    ]
    start = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [True] * 400
    assert time.monotonic() - start < 10
    assert watched.hub._cookies == {}
    assert os.listdir(watched.cookies) == []


def test_a_barrier_that_can_not_be_reached_says_so(watched: Watched):
    """A look at everything answers then; a wrong yes would be a file missing from the checkpoint."""
    with held(watched.hub):
        (watched.root / "d1/file").write_text("not read by anybody yet")
        assert not watched.watcher.barrier(0.05)
        assert watched.dirt.peek() is None
    assert watched.seen() == {b"d1/file"}


def test_a_barrier_says_so_as_well_when_the_reader_has_ended(tmp_path: Path):
    """Also then the save is right, only slower."""
    with Watched(tmp_path) as watched:
        watched.start()
        watched.hub.stop_reading()
        assert not watched.watcher.barrier(0.05)
        watched.hub.stop_reading = lambda: None  # type: ignore[method-assign]
        watched.watcher._numbers.clear()


def test_a_barrier_needs_no_file(watched: Watched):
    """Something cleans the runtime folder, or its disk is full: every save would have to look at everything."""
    watched.cookies.rmdir()
    assert watched.watcher.barrier(0.5)
    assert not watched.cookies.exists()
    (watched.root / "d1/file").write_text("1")
    assert watched.seen() == {b"d1/file"}


def test_after_an_overflow_a_barrier_does_not_wait_for_events_that_were_dropped(watched: Watched):
    """Everything is suspect anyway, so the save may begin at once."""
    answers: list[bool] = []
    asking = threading.Thread(target=lambda: answers.append(watched.watcher.barrier(60)))
    with noticing_barriers(watched.hub) as wanted, held(watched.hub):
        flood(watched.root)
        asking.start()
        assert wanted.wait(10)
    start = time.monotonic()
    asking.join()
    assert time.monotonic() - start < 20
    assert answers == [True]
    assert watched.dirt.take().reason == "the kernel's queue of events overflowed"


def test_no_cookie_is_ever_seen_in_the_workspace(watched: Watched):
    """Other watchers, builds and git would all see it."""
    folders = [watched.root, *watched.root.iterdir()]
    before = [(folder.stat().st_mtime_ns, folder.stat().st_ctime_ns) for folder in folders]
    for _ in range(20):
        assert watched.watcher.barrier(10)
    assert [(folder.stat().st_mtime_ns, folder.stat().st_ctime_ns) for folder in folders] == before
    assert watched.dirt.peek() is None


@pytest.mark.parametrize("action", ["save", "restore", "undo"])
def test_a_save_that_fails_forgets_nothing_of_what_it_should_have_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
):
    """The disk is full, the user makes room and saves again: no new event tells of the files from before."""
    with live(tmp_path, quiet=30.0, patience=60.0) as at:
        (at.root / "file").write_text("1")
        at.save()
        (at.root / "file").write_text("2")

        def fail(*_: object, **__: object) -> None:
            raise StoreFailed("No space left on device")

        def fail_once(keeper):
            with monkeypatch.context() as broken:
                broken.setattr(keeper.workspace, action, fail)
                {
                    "save": lambda: keeper.save(Intent()),
                    "restore": lambda: keeper.restore("1"),
                    "undo": keeper.undo,
                }[action]()

        with pytest.raises(StoreFailed):
            at.service.ask(at.id, fail_once)
        assert at.save().tree == at.disk()
