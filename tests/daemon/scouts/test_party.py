"""The processes: sent where it is worth it, and gone with the daemon, however that ends."""

import contextlib
import fcntl
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from backtraild.scouts import errand
from backtraild.scouts.party import send_out
from support.project import Project
from support.watching import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="scouts are Linux's")

_TESTS = Path(__file__).parents[2]


@pytest.fixture
def listed(tmp_path: Path) -> Path:
    """A list of workspaces with one in it, which has been looked at."""
    with Project(tmp_path) as project:
        for number in range(5):
            (project.root / f"unit{number}").mkdir()
            (project.root / f"unit{number}/file").write_text(f"{number}\n")
        project.workspace.start()
        store = project.store
    (tmp_path / "stores").mkdir()
    (tmp_path / "stores/one").symlink_to(store)
    write_list(tmp_path, watcher="auto")
    return tmp_path


def write_list(folder: Path, watcher: str) -> None:
    entry = {"id": "one", "root": str(folder / "work"), "config": {"watcher": watcher}, "store": None}
    (folder / "list.json").write_text(json.dumps({"version": 1, "workspaces": [entry]}))


def errands(folder: Path) -> list[errand.Errand]:
    return errand.errands(str(folder / "list.json"), str(folder / "stores"))


def test_a_small_workspace_is_looked_at_by_the_daemon_itself(listed: Path) -> None:
    """A process takes longer to be of use."""
    assert errands(listed) == []


def test_stretches_cover_all_folders_once(listed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no scout visits would be taken for unchanged."""
    monkeypatch.setattr(errand, "LEAST_BUNDLES", 1)
    monkeypatch.setattr(errand, "BUNDLES_IN_A_STRETCH", 2)
    (found,) = errands(listed)
    assert found.root == os.fsencode(listed / "work")
    borders = [border for stretch in found.stretches for border in stretch]
    assert borders[0] == b"/unit0/"
    assert borders[1:-1:2] == borders[2::2]
    assert borders[-1] > b"/unit4/"
    assert len(found.stretches) == 3


def test_no_more_is_to_be_done_than_fits_into_a_pipe(listed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who gives the jobs would wait for scouts that are not on their way yet."""
    monkeypatch.setattr(errand, "LEAST_BUNDLES", 1)
    monkeypatch.setattr(errand, "BUNDLES_IN_A_STRETCH", 1)
    monkeypatch.setattr(errand, "MOST_STRETCHES", 2)
    (found,) = errands(listed)
    assert len(found.stretches) == 2
    assert errand.MOST_STRETCHES * errand.MOST_ERRANDS * 8 <= 65_536


def test_there_are_no_more_stretches_where_only_the_bundles_at_borders_are_left(
    listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after many folders have come and gone."""
    monkeypatch.setattr(errand, "LEAST_BUNDLES", 1)
    monkeypatch.setattr(errand, "BUNDLES_IN_A_STRETCH", 4)
    monkeypatch.setattr(errand, "MOST_STRETCHES", 2)
    with sqlite3.connect(listed / "stores/one/state.db") as connection:
        connection.execute("UPDATE files SET id = id * 1200")
    connection.close()
    (found,) = errands(listed)
    assert len(found.stretches) <= 3
    assert (found.stretches[0][0], found.stretches[-1][1]) == (b"/unit0/", b"/unit4/\0")


@pytest.mark.parametrize(
    "harm",
    ["poll", "no list", "a list of nothing", "a FIFO", "no table", "a FIFO for a table", "a strange table"],
)
def test_where_nothing_can_be_found_out_nobody_is_sent(
    listed: Path, monkeypatch: pytest.MonkeyPatch, harm: str
) -> None:
    """And nobody waits: whatever is wrong is told by whoever opens it for work."""
    monkeypatch.setattr(errand, "LEAST_BUNDLES", 1)
    table = listed / "stores/one/state.db"
    if harm == "poll":
        write_list(listed, watcher="poll")
    elif harm == "a list of nothing":
        (listed / "list.json").write_text('{"workspaces": [{}]}')
    elif harm == "a strange table":
        with sqlite3.connect(table) as connection:
            connection.execute("PRAGMA user_version = 999")
        connection.close()
    else:
        path = table if "table" in harm else listed / "list.json"
        path.unlink()
        if "FIFO" in harm:
            os.mkfifo(path)
    assert send_out(str(listed / "list.json"), str(listed / "stores")) is None


_KILLED = """
import fcntl, os, sys, time
from backtraild.scouts import errand, party
folder = sys.argv[1]
lock = os.open(folder + "/lock", os.O_RDWR | os.O_CREAT)
fcntl.flock(lock, fcntl.LOCK_EX)
errand.LEAST_BUNDLES = 1
look = party.look

def slowly(*arguments):
    os.write(1, b"%d\\n" % os.getpid())
    while not os.path.exists(folder + "/go on"):
        time.sleep(0.01)
    return look(*arguments)

party.look = slowly
party.send_out(folder + "/list.json", folder + "/stores")
time.sleep(60)
"""


def test_when_the_daemon_is_killed_its_lock_is_free_at_once_and_scouts_end_soon(listed: Path) -> None:
    """They may be at a disk that does not answer, and the next daemon must not wait for that."""
    with subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(listed)], stdout=subprocess.PIPE, env=dict(os.environ)
    ) as daemon:
        try:
            assert daemon.stdout is not None
            scout = int(daemon.stdout.readline())
            daemon.kill()
            daemon.wait()
            # One that was sent out a moment ago may not have let go of it yet.
            eventually(lambda: _is_free(listed / "lock"))
            os.kill(scout, 0)
        finally:
            (listed / "go on").touch()
        eventually(lambda: not Path(f"/proc/{scout}").exists() or _is_zombie(scout))


_HELD_BACK = """
import os, sys
from backtraild.scouts import errand, party

folder = sys.argv[1]
errand.LEAST_BUNDLES = errand.BUNDLES_IN_A_STRETCH = 1
os.sched_getaffinity = lambda _: set(range(int(sys.argv[2])))
sent = party.send_out(folder + "/list.json", folder + "/stores")
*first, last = sent.processes
for process in first:
    os.waitpid(process, 0)
print(len(sent.processes), os.waitpid(last, os.WNOHANG) == (0, 0) if first else "", flush=True)
os.close(sent.held_back)
print(os.waitpid(last, 0)[1], len(os.read(sent.told, 65536)) // party.FINDING.size)
"""


@pytest.mark.parametrize("processors", [1, 2, 4])
def test_the_last_of_several_scouts_waits_until_the_daemon_has_loaded_its_modules(
    listed: Path, processors: int
) -> None:
    """Three processes on two processors would leave it half of one. A single scout never waits."""
    arguments = [sys.executable, "-c", _HELD_BACK, str(listed), str(processors)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=True)
    held_back = "True" if processors > 1 else ""
    assert done.stdout.split() == [str(processors), *held_back.split(), "0", "5"]


def _is_free(path: Path) -> bool:
    with open(path) as lock, contextlib.suppress(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _is_zombie(process: int) -> bool:
    return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_all_that_scouts_load_is_loaded_in_a_moment() -> None:
    """They are sent out before the daemon has loaded anything; a library among it would make them late."""
    told = "import sys, backtraild.__main__; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    heavy = {
        "msgspec",
        "watchdog",
        "zmq",
        "pygit2",
        "logging",
        "concurrent.futures",
        "backtraild.app",
        "backtraild.state",
    }
    assert not heavy & set(done.stdout.split())


_ELSEWHERE = """
import argparse, ctypes, json, os, pathlib, sqlite3, sys, typing

class Library:
    def __init__(self, *_, **__): pass
    def __getattr__(self, name): raise AttributeError(name)

ctypes.CDLL, sys.platform = Library, "darwin"
import backtraild.__main__, backtraild.scouts.gathering
from backtraild.scouts.party import send_out
print(send_out("no list", "no stores"))
"""


def test_another_system_is_asked_for_no_call_that_it_does_not_have() -> None:
    """The daemon starts there without scouts."""
    done = subprocess.run([sys.executable, "-c", _ELSEWHERE], capture_output=True, text=True, check=True)
    assert done.stdout == "None\n"
