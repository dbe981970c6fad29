"""The tracer that kills programs and makes their system calls fail: every promise tested with it depends on it."""

import errno
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.stage import Actor, the_stage
from support.tracing import Fail, Kill, Tracer
from torture.campaign import Unable

EXPECTED = ["open", *["write"] * 5, "sync", "rename", "make", "remove"]


@contextmanager
def playing(program: str, folder: Path, plan: Kill | Fail | None = None, **options: bool) -> Iterator[Actor]:
    """A traced program that has been told to begin; it has its tracer as an attribute."""
    tracer = Tracer(str(folder), **options)
    try:
        actor = the_stage().enter(f"support.traced_programs:{program}", folder, tracer=tracer)
    except Unable as error:
        pytest.skip(str(error))
    with actor:
        assert actor.hear() == {"ready": True}
        tracer.arm(plan)
        actor.say()
        yield actor


def test_every_change_below_the_folder_is_counted_and_nothing_else(tmp_path: Path):
    """A call that is not counted is a moment that is never tried."""
    with playing("five_writes", tmp_path) as actor:
        assert actor.hear() == {"failed": []}
        actor.await_end()
        calls = actor.tracer.calls
    assert [call.kind for call in calls] == EXPECTED
    assert [call.number for call in calls] == list(range(1, len(calls) + 1))
    assert {call.path for call in calls} == {str(tmp_path / name) for name in ("new", "renamed", "made")}


def test_files_that_are_opened_only_to_be_read_are_counted_where_that_is_wanted(tmp_path: Path):
    """Without descriptors left, reading fails as well as writing."""
    with playing("five_writes", tmp_path, reads=True) as actor:
        actor.await_end()
        kinds = [call.kind for call in actor.tracer.calls]
    assert kinds == [*EXPECTED[:8], "look", *EXPECTED[8:]]


def test_paths_are_found_however_they_are_named(tmp_path: Path):
    """The daemon names files by the descriptors of their folders."""
    with playing("by_descriptor", tmp_path) as actor:
        actor.await_end()
        found = [(call.name, os.path.relpath(call.path, tmp_path)) for call in actor.tracer.calls]
    assert [path for _, path in found] == ["below", "below/deeper", "link", "up"]


def test_threads_children_and_programs_are_followed(tmp_path: Path):
    """The daemon has a thread for every folder, and lets children work for it."""
    with playing("in_threads", tmp_path) as actor:
        assert actor.hear() == {"done": True}
        names = Counter(Path(call.path).name for call in actor.tracer.calls)
    assert names == Counter(["thread 0", "thread 1", "thread 2", "thread 3", "child", "program"])
    assert (tmp_path / "other program").is_dir()


def test_what_other_programs_do_is_counted_where_that_is_wanted(tmp_path: Path):
    """Of a push, git does all the writing."""
    with playing("in_threads", tmp_path, others=True) as actor:
        assert actor.hear() == {"done": True}
        assert Path(actor.tracer.calls[-1].path).name == "other program"


@pytest.mark.parametrize("number", range(1, len(EXPECTED) + 1))
def test_a_kill_comes_before_the_call_is_made(tmp_path: Path, number: int):
    """What is on the disk then is what all earlier calls did."""
    with playing("five_writes", tmp_path, Kill(number)) as actor:
        assert actor.hear() is None
        actor.await_end()
        assert actor.tracer.hit == actor.tracer.calls[number - 1]
    name = "new" if number <= 8 else "renamed"
    content = (tmp_path / name).read_bytes() if number > 1 else b""
    assert content == b"".join(b"%d" % at * 100 for at in range(max(0, min(5, number - 2))))
    assert (tmp_path / "made").exists() == (number == 10)
    assert not number > 1 or (tmp_path / name).exists()


def test_a_kill_after_a_write_leaves_half_of_it(tmp_path: Path):
    """A disk that is slow, or a large write: the signal comes in the middle."""
    with playing("five_writes", tmp_path, Kill(3, after=True)) as actor:
        assert actor.hear() is None
        actor.await_end()
    assert (tmp_path / "new").read_bytes() == b"0" * 100 + b"1" * 50


@pytest.mark.parametrize("error", [errno.EIO, errno.ENOSPC, errno.EROFS])
def test_one_call_fails_with_the_error_that_was_wanted_and_is_not_made(tmp_path: Path, error: int):
    """Whoever says that a write failed must not have written."""
    with playing("five_writes", tmp_path, Fail(3, error)) as actor:
        assert actor.hear() == {"failed": [[1, error]]}
        assert actor.tracer.hit is not None
        assert actor.tracer.hit.number == 3
    assert (tmp_path / "renamed").read_bytes() == b"".join(b"%d" % at * 100 for at in (0, 2, 3, 4))


def test_a_lasting_failure_goes_on_until_it_is_over(tmp_path: Path):
    """A full disk is full for everybody who writes; other calls still work."""
    plan = Fail(3, errno.ENOSPC, lasting=True, kinds=frozenset({"write"}))
    with playing("five_writes", tmp_path, plan) as actor:
        assert actor.hear() == {"failed": [[at, errno.ENOSPC] for at in (1, 2, 3, 4)]}
    assert (tmp_path / "renamed").read_bytes() == b"0" * 100


def test_a_program_that_ends_leaves_no_process_behind(tmp_path: Path):
    """Thousands of rounds are made on one machine."""
    with playing("five_writes", tmp_path) as actor:
        actor.await_end()
    assert not Path(f"/proc/{actor.pid}").exists() or b"Z" in Path(f"/proc/{actor.pid}/stat").read_bytes()
