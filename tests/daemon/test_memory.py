"""What is free is given back to the system."""

import ctypes
import subprocess
import sys
from collections.abc import Iterator

import pytest

from backtraild import memory

MANY = 400_000
SMALL = 200

# A process of its own, in which nobody has chosen yet. Each thread holds a piece until all of them have one.
_MANY_THREADS = """
import ctypes, sys, threading
from backtraild import memory
if sys.argv[1:]:
    memory.keep_little()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
met = threading.Barrier(6)
def hold():
    libc.malloc(200)
    met.wait()
threads = [threading.Thread(target=hold) for _ in range(6)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
libc.malloc_info(0, ctypes.c_void_p.in_dll(libc, "stdout"))
libc.fflush(None)
"""


@pytest.fixture
def libc() -> ctypes.CDLL:
    found = ctypes.CDLL(None)
    if not hasattr(found, "malloc_trim"):
        pytest.skip("this is not glibc")
    found.malloc.restype = ctypes.c_void_p
    found.free.argtypes = [ctypes.c_void_p]
    return found


@pytest.fixture
def scattered(libc: ctypes.CDLL) -> Iterator[None]:
    """Very many small pieces of memory, all free but the last of them."""
    pieces = [libc.malloc(SMALL) for _ in range(MANY)]
    for piece in pieces[:-1]:
        libc.free(piece)
    yield
    libc.free(pieces[-1])


@pytest.mark.usefixtures("libc")
def test_small_pieces_that_are_free_are_given_back(request: pytest.FixtureRequest):
    """One that is in use at the end would otherwise keep all of them, for the rest of the daemon's life."""
    trimmer = memory.Trimmer()
    request.getfixturevalue("scattered")
    grown = memory._resident()
    trimmer.look()
    assert memory._resident() < grown - MANY * SMALL // 2


def test_where_it_is_no_use_it_is_not_tried_again_before_the_process_grows(monkeypatch: pytest.MonkeyPatch):
    """A daemon with a million files needs its memory, and each attempt costs time."""
    assert _attempts(monkeypatch, [memory.GROWTH] * 100, given_back=0) == 1
    assert _attempts(monkeypatch, [memory.GROWTH, 2 * memory.GROWTH], given_back=0) == 2


def test_a_large_process_has_to_grow_by_more(monkeypatch: pytest.MonkeyPatch):
    """It takes longer there to look for what is free."""
    large = 100 * memory.GROWTH
    assert _attempts(monkeypatch, [large, large + memory.GROWTH], given_back=0) == 1


def test_where_it_is_of_use_it_is_tried_again_and_again(monkeypatch: pytest.MonkeyPatch):
    """A daemon that is busy for hours frees crowds of small pieces every few seconds."""
    assert _attempts(monkeypatch, [memory.GROWTH] * 100, given_back=memory.GROWTH) == 100


def _attempts(monkeypatch: pytest.MonkeyPatch, sizes: list[int], given_back: int) -> int:
    """How many a process makes that is found to be so large at each look, and was small before."""
    tried: list[int] = []
    size = 0
    monkeypatch.setattr(memory, "_resident", lambda: size)

    def trim() -> None:
        nonlocal size
        tried.append(1)
        size -= given_back

    monkeypatch.setattr(memory, "_trim", trim)
    trimmer = memory.Trimmer()
    for found in sizes:
        size = found
        trimmer.look()
    return len(tried)


@pytest.mark.usefixtures("libc")
def test_threads_share_what_is_free():
    """Left to itself, glibc gives each of a few threads an arena of its own."""
    assert _arenas_of_six_threads() > memory.ARENAS
    assert _arenas_of_six_threads("sharing") <= memory.ARENAS


def _arenas_of_six_threads(*arguments: str) -> int:
    command = [sys.executable, "-c", _MANY_THREADS, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.count("<heap ")
