"""The set of dirty paths between the thread that reads events and the worker."""

import threading
import time

from backtraild.watch import Dirt
from backtraild.watch.dirt import MOST_PATHS

LONG = 30.0


def waited(dirt: Dirt, seconds: float) -> float:
    """How long a wait took."""
    start = time.monotonic()
    dirt.wait(seconds)
    return time.monotonic() - start


def test_a_mark_that_comes_between_the_look_and_the_wait_is_not_slept_through():
    """The worker finds nothing, a file is saved, the worker lies down: it must not sleep until the next one."""
    dirt = Dirt()
    assert dirt.peek() is None
    dirt.mark(b"saved-just-now")
    assert waited(dirt, LONG) < LONG / 2


def test_everything_becoming_suspect_is_not_slept_through_either():
    """After an overflow nothing more may happen for hours, and the look at everything has to begin."""
    dirt = Dirt()
    dirt.mark(b"before")
    dirt.wait(0)
    dirt.mark_everything("overflow")
    assert waited(dirt, LONG) < LONG / 2


def test_a_new_folder_wakes_also_where_there_is_dirt_already():
    """It gets its watch at once, or what goes on in it would not count as unrest."""
    dirt = Dirt()
    dirt.mark(b"before")
    dirt.wait(0)
    dirt.mark(b"folder", is_new_folder=True)
    assert waited(dirt, LONG) < LONG / 2
    assert dirt.take_folders() == {b"folder"}


def test_in_a_storm_the_worker_is_woken_once_and_not_by_every_mark():
    """A worker that looks up at each of 50,000 marks takes the time that the reader needs to keep up."""
    dirt = Dirt()
    wakes = 0
    stop = threading.Event()

    def work() -> None:
        nonlocal wakes
        while not stop.is_set():
            dirt.wait(LONG)
            wakes += 1

    worker = threading.Thread(target=work)
    worker.start()
    for number in range(5_000):
        dirt.mark(b"%d" % number)
    stop.set()
    dirt.wake()
    worker.join()
    assert wakes <= 3


def test_a_glance_at_the_dirt_costs_the_same_however_much_there_is():
    """The reader waits for the lock meanwhile: a copy of 50,000 paths at each glance would make it lag."""
    dirt = Dirt()
    for number in range(MOST_PATHS - 1):
        dirt.mark(b"%d" % number)
    start = time.perf_counter()
    for _ in range(1_000):
        assert dirt.peek()
    assert time.perf_counter() - start < 0.5


def test_more_paths_than_are_worth_remembering_become_everything():
    """A million changed files must not be a million paths in memory."""
    dirt = Dirt()
    for number in range(MOST_PATHS + 1):
        dirt.mark(b"%d" % number, is_new_folder=True)
    assert not dirt.take_folders()
    dirt.mark(b"one more", is_new_folder=True)
    taken = dirt.take()
    assert not taken.paths
    assert taken.folders == {b"one more"}
    assert "50,000" in (taken.reason or "")
    assert not dirt.take()


def test_what_could_not_be_looked_at_is_as_dirty_and_as_old_as_before():
    """A full disk must not make the daemon forget what it still has to save."""
    dirt = Dirt()
    dirt.mark(b"first")
    taken = dirt.take()
    dirt.mark(b"second", is_new_folder=True)
    dirt.put_back(taken)
    again = dirt.take()
    assert again.paths == {b"first", b"second"}
    assert again.folders == {b"second"}
    assert again.first == taken.first
    assert again.last > taken.last


def test_put_back_after_everything_became_suspect_it_stays_small():
    """Failing again and again while much goes on must not gather memory."""
    dirt = Dirt()
    for number in range(MOST_PATHS):
        dirt.mark(b"%d" % number)
    taken = dirt.take()
    for number in range(MOST_PATHS):
        dirt.mark(b"other %d" % number)
    dirt.put_back(taken)
    again = dirt.take()
    assert again.reason
    assert not again.paths
    dirt.mark_everything("overflow")
    dirt.put_back(taken)
    assert dirt.take().paths == frozenset()
