"""The process that does the work: it comes to an end with whoever started it, and leaves nothing behind."""

import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.store import Store, Tidied, UpkeepFailed, Weighed
from backtraild.upkeep.orders import Weigh
from backtraild.upkeep.weighing import weigh
from support.drafts import save
from support.upkeep import PLENTY, Process, contents, pack_names, put_in_place, tidy_up
from support.watching import eventually

FIXED = 1104  # bytes of a pack and its index that are there for any number of objects
HIGHEST = FIXED + 39  # a pack of its own, with the highest number, once the checkpoint that had it is gone


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.create(str(tmp_path / "it's a store.git"))
    for number in range(6):
        save(store, {b"a": b"%d" % number * 100, b"b": b"same"}, base=store.newest_tree())
    return store


@pytest.fixture
def process(store: Store) -> Iterator[Process]:
    process = Process(store.git_dir)
    yield process
    process.upkeep.stop()


def children(pid: int) -> list[int]:
    """The processes that a process has started and that still run."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(word) for word in (task / "children").read_text().split()]
    return [child for child in found if is_alive(child)]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def hold_up(store: Store) -> None:
    """Have everybody wait who reads all refs."""
    os.mkfifo(os.path.join(store.git_dir, "refs/checkpoints/held"))


def test_the_process_does_a_round_that_the_store_puts_in_place(store: Store, process: Process) -> None:
    """Also where a path has characters that a shell would mind."""
    process.upkeep.tidy(store.begin_upkeep(), PLENTY, urgent=False)
    assert process.upkeep.running
    found = process.outcome()
    assert isinstance(found, Tidied)
    assert len(found.replaced) == 6
    assert store.end_upkeep(found)
    assert not process.upkeep.running
    assert process.upkeep.take() is None
    assert contents(Store(store.git_dir), 3) == {b"a": b"2" * 100, b"b": b"same"}


def test_what_is_weighed_is_what_the_disk_then_holds(store: Store, process: Process) -> None:
    """A cap is kept by letting go of just as much as is needed."""
    tidy_up(store)
    process.upkeep.weigh([1, 2, 3, 4, 5, 6])
    found = process.outcome()
    assert isinstance(found, Weighed)
    assert found.complete
    assert [found.others, *found.cumulative] == sorted({found.others, *found.cumulative})
    store.delete_many([4, 5, 6])
    process.upkeep.tidy(store.begin_upkeep(), PLENTY, urgent=True)
    tidied = process.outcome()
    assert isinstance(tidied, Tidied)
    put_in_place(store, tidied)
    assert (
        abs(store.pack_bytes - found.cumulative[2] - HIGHEST - FIXED) < 10
    )  # distances take more or fewer bytes


def test_what_a_delta_needs_is_weighed_with_it(store: Store) -> None:
    """The newest version is told in a few bytes, and yet nearly nothing would be gained by keeping it alone."""
    large = random.Random(1).randbytes(20_000)
    for number in range(5):
        save(store, {b"large": large + b"%d" % number}, base=store.newest_tree())
    tidy_up(store)
    newest, *others = reversed(store.numbers)
    found = weigh(Weigh(store.git_dir, (newest,)))
    assert found.cumulative[0] > len(large)
    store.delete_many(others)
    tidy_up(store, urgent=True)
    assert store.pack_bytes < found.cumulative[0] + FIXED + 100


def test_a_pinned_checkpoint_is_weighed_with_the_others(store: Store) -> None:
    """It stays whatever is let go."""
    before = weigh(Weigh(store.git_dir, (6, 1)))
    store.pin(1)
    after = weigh(Weigh(store.git_dir, (6, 1)))
    assert before.cumulative[-1] == after.cumulative[-1]
    assert before.cumulative[0] < before.cumulative[1]
    assert after.cumulative[0] == after.cumulative[1]


def test_a_damaged_store_says_that_its_weight_is_not_all(store: Store) -> None:
    """Too small a figure would let go of more than it makes room for."""
    Path(store.git_dir, "refs/checkpoints/2").write_text("garbage")
    assert not weigh(Weigh(store.git_dir, (6, 2))).complete


def test_a_store_with_a_damaged_pack_is_weighed(store: Store) -> None:
    """A cap must hold all the same; here an object says that it is a change of what lies before the pack begins."""
    (pack, *_) = sorted(Path(store.git_dir).glob("objects/pack/*.pack"))
    content = bytearray(pack.read_bytes())
    content[12:14] = bytes([6 << 4 | 5, 0x7F])
    pack.chmod(0o600)
    pack.write_bytes(content)
    assert weigh(Weigh(store.git_dir, (6, 1))).cumulative[-1] > 0


def test_a_checkpoint_that_is_gone_weighs_nothing(store: Store) -> None:
    """It was deleted while the process was starting."""
    found = weigh(Weigh(store.git_dir, (6, 77, 5)))
    assert found.complete
    assert found.cumulative[0] == found.cumulative[1] < found.cumulative[2]


def test_a_process_is_ended_at_once_and_what_it_wrote_is_removed(store: Store, process: Process) -> None:
    """The daemon stops within a moment, however long a round would have taken."""
    hold_up(store)
    Path(store.git_dir, "objects/pack/tmp_pack_upkeep_written").write_bytes(b"half")
    process.upkeep.tidy(store.begin_upkeep(), PLENTY, urgent=False)
    eventually(lambda: children(os.getpid()))
    process.upkeep.stop()
    assert children(os.getpid()) == []
    assert not [name for name in pack_names(store.git_dir) if name.startswith("tmp_")]
    assert not process.upkeep.running


def test_a_process_that_is_killed_is_a_failed_round(store: Store, process: Process) -> None:
    """Somebody short of memory ends it; the next round may go better."""
    hold_up(store)
    process.upkeep.weigh([1])
    eventually(lambda: children(os.getpid()))
    os.kill(children(os.getpid())[0], signal.SIGKILL)
    assert process.outcome() == UpkeepFailed("The process ended with status -9.")
    os.unlink(os.path.join(store.git_dir, "refs/checkpoints/held"))
    process.upkeep.weigh([1])
    assert isinstance(process.outcome(), Weighed)


def test_a_process_that_can_not_begin_is_a_failed_round(tmp_path: Path) -> None:
    """The thread that waits for it must not wait for ever."""
    process = Process(str(tmp_path / "gone.git"))
    process.upkeep.weigh([1])
    found = process.outcome()
    assert isinstance(found, UpkeepFailed)
    assert "gone.git" in found.reason


def test_a_process_says_why_it_failed(store: Store, process: Process) -> None:
    """The log is where somebody will look."""
    Path(store.git_dir, "objects/pack").rename(Path(store.git_dir, "objects/elsewhere"))
    process.upkeep.weigh([1])
    found = process.outcome()
    assert isinstance(found, UpkeepFailed)
    assert "No such file or directory" in found.reason


def test_the_process_is_after_all_others_at_the_processor(store: Store, process: Process) -> None:
    """Nobody who works in a folder should notice that it is tidied."""
    hold_up(store)
    process.upkeep.tidy(store.begin_upkeep(), PLENTY, urgent=False)
    eventually(lambda: children(os.getpid()))
    (child,) = children(os.getpid())
    eventually(lambda: os.getpriority(os.PRIO_PROCESS, child) == 19)
    eventually(lambda: os.sched_getscheduler(child) == os.SCHED_IDLE)


DAEMON = """
import os, signal, sys, time
from pathlib import Path
from backtraild.upkeep import Upkeep
upkeep = Upkeep(sys.argv[1], lambda: None)
upkeep.weigh([1])
while not any((task / "children").read_text() for task in Path("/proc/self/task").iterdir()):
    time.sleep(0.01)
print(*[word for task in Path("/proc/self/task").iterdir() for word in (task / "children").read_text().split()])
sys.stdout.flush()
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_process_ends_with_a_daemon_that_is_killed(store: Store) -> None:
    """Two daemons later, two processes would still be at work on the same store."""
    hold_up(store)
    with subprocess.Popen(
        [sys.executable, "-c", DAEMON, store.git_dir], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as daemon:
        assert daemon.stdout is not None
        child = int(daemon.stdout.readline())
        assert is_alive(child)
        daemon.communicate(b"\n")
    eventually(lambda: not is_alive(child))
