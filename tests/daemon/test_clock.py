"""Clocks that are wrong, go back or jump, and files dated to any time: numbers keep the order, content stays true."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backtraild.model import Kind
from backtraild.retention import Candidate, decide
from backtraild.scan import capture
from backtraild.state import Query
from backtraild.ticks import FAR_AHEAD_NS, TICK_NS
from backtraild.workspace import recorder
from support.disk import fsck
from support.look import Looker
from support.project import Project

NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)
DAY = 86_400 * 10**9
HOUR = 3_600 * 10**9


class Clock:
    """What the recorder takes for `datetime`: it says what the test wants."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self, _: object) -> datetime:
        return self.at


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock(NOON)
    monkeypatch.setattr(recorder, "datetime", clock)
    return clock


@pytest.fixture
def project(tmp_path: Path, clock: Clock) -> Iterator[Project]:
    with Project(tmp_path) as project:
        project.workspace.start()
        yield project


def saved_at(project: Project, clock: Clock, *times: datetime) -> list[int]:
    """A checkpoint at each of these times, in this order; their numbers."""
    numbers = []
    for clock.at in times:
        project.write("file", f"{len(numbers)} {clock.at}")
        numbers.append(project.save().number)
    return numbers


def list_numbers(project: Project, **wanted: datetime) -> list[int]:
    return [each.number for each in project.workspace.history.list(Query(**wanted)).checkpoints]


def test_a_clock_that_goes_back_changes_neither_the_order_nor_what_the_newest_is(
    project: Project, clock: Clock
):
    """The hour after the clock was set back is the one in which somebody needs `@~1` to be the state before."""
    numbers = saved_at(project, clock, NOON + timedelta(days=400), NOON - timedelta(days=400), NOON)
    assert list_numbers(project) == [*reversed(numbers), 1]
    assert project.workspace.history.find("@").number == numbers[-1]
    assert project.workspace.history.find("@~2").number == numbers[0]


def test_a_time_names_the_newest_by_number_that_was_made_at_or_before_it(project: Project, clock: Clock):
    """With times out of order `at 12:30` has many readings; the one that was done last is the one people mean."""
    late, early, middle = saved_at(
        project, clock, NOON + timedelta(hours=2), NOON - timedelta(hours=2), NOON + timedelta(hours=1)
    )
    find = project.workspace.history.find
    assert find("@{2026-05-06 10:00:00Z}").number == early
    assert find("@{2026-05-06 12:30Z}").number == early
    assert find("@{2026-05-06 13:30Z}").number == middle
    assert find("@{2026-05-06 14:30Z}").number == middle  # not `late`, which was made before it
    assert late < early


def test_since_and_until_go_by_the_times_and_order_by_the_numbers(project: Project, clock: Clock):
    """A list of the morning must not lack what was made in it before the clock was corrected."""
    _, early, middle = saved_at(
        project, clock, NOON + timedelta(hours=2), NOON - timedelta(hours=2), NOON + timedelta(hours=1)
    )
    assert list_numbers(project, until=NOON + timedelta(hours=1)) == [middle, early, 1]
    assert list_numbers(project, since=NOON - timedelta(hours=3), until=NOON - timedelta(hours=1)) == [early]


def test_checkpoints_of_one_and_the_same_moment_are_told_apart(project: Project, clock: Clock):
    """A clock may stand still for many saves: two of them must never become one."""
    numbers = saved_at(project, clock, NOON, NOON, NOON)
    assert project.workspace.history.find("@{2026-05-06 12:00:00Z}").number == numbers[-1]
    assert len({project.workspace.history.find(str(number)).id for number in numbers}) == 3


@pytest.mark.parametrize("year", [1, 1969, 1970, 2038, 2106, 2500, 9999])
def test_a_checkpoint_of_any_year_is_a_sound_commit_and_keeps_its_time(
    project: Project, clock: Clock, year: int
):
    """A machine without a battery starts in 1970, or before; git calls a date before that an error."""
    moment = datetime(year, 1, 2, 3, 4, 5, 6, tzinfo=UTC)
    [number] = saved_at(project, clock, moment)
    fsck(project.git_dir)
    os.unlink(project.store / "state.db")  # nothing but the commit is left to tell it
    assert project.reopen().history.find(str(number)).timestamp == moment


def test_a_date_in_the_future_neither_protects_for_ever_nor_drops_the_present():
    """Some hours with the clock in 2040 must not push out what is made in 2026 from then on."""
    ahead = [Candidate(n, NOON + timedelta(days=5000, hours=n), Kind.AUTO) for n in range(1, 21)]
    present = [Candidate(n, NOON + timedelta(minutes=n), Kind.AUTO) for n in range(21, 31)]
    verdict = decide([*ahead, *present], NOON + timedelta(hours=1), at_most=10)
    assert [decision.number for decision in verdict.kept] == list(range(21, 31))


@pytest.mark.parametrize(
    "seconds", [-(2**31), -1, 0, 2**31, 2**32 + 5, 9_223_372_036, 9_223_372_037, 15_000_000_000]
)
def test_a_file_dated_to_any_time_is_captured_read_once_and_its_changes_are_seen(
    looker: Looker, opened: list[bytes], seconds: int
):
    """Archives and broken cameras date files before 1970 and after 2262, where 64 bits of nanoseconds end."""
    path = looker.root / "file"
    path.write_bytes(b"one")
    os.utime(path, ns=(seconds * 10**9 + 5,) * 2)
    if path.stat().st_mtime_ns // 10**9 != seconds:
        pytest.skip("this file system has no such date")
    for _ in range(3):
        looker.look(time.time_ns() + HOUR)
    assert opened == [b"file"]
    path.write_bytes(b"two")
    os.utime(path, ns=(seconds * 10**9 + 5,) * 2)
    looker.look(time.time_ns() + HOUR)
    assert looker.content(b"file") == b"two"


def test_a_file_dated_a_little_ahead_is_read_until_then_and_no_longer(looker: Looker, opened: list[bytes]):
    """The server's clock may be ahead of ours: then its present looks like our future, and may yet change."""
    path = looker.root / "file"
    path.write_bytes(b"one")
    os.utime(path, ns=(time.time_ns() + 2 * HOUR + 5,) * 2)
    for _ in range(2):
        looker.look(time.time_ns() + HOUR)
    assert len(opened) == 2
    for _ in range(2):
        looker.look(time.time_ns() + 3 * HOUR)
    assert len(opened) == 3


def test_after_the_clock_was_set_back_by_days_files_of_the_future_are_read_once(
    looker: Looker, opened: list[bytes]
):
    """All files of the time that never was would be read at each look, for as long as it was wrong."""
    (looker.root / "file").write_bytes(b"one")
    for _ in range(3):
        looker.look(time.time_ns() - 2 * DAY)
    assert opened == [b"file"]


def test_a_look_that_was_held_up_for_days_does_not_take_the_present_for_the_future():
    """A machine that slept between asking the time and reading the file: the file may have changed just now."""
    now = time.time_ns() // 10**9 * 10**9 + 5
    status = os.stat_result(
        (0o100644, 7, 1, 1, 0, 0, 3, 0, 0, 0),
        {"st_mtime_ns": now, "st_ctime_ns": now, "st_atime_ns": 0},
    )
    held_up = capture._read_row(status, b"\1" * 20, now - 5 * FAR_AHEAD_NS, now + 1)
    far_ahead = capture._read_row(status, b"\1" * 20, now - 5 * FAR_AHEAD_NS, now - FAR_AHEAD_NS - 1)
    long_ago = capture._read_row(status, b"\1" * 20, now + TICK_NS + 1, now + TICK_NS + 2)
    assert (held_up.ctime_ns, far_ahead.ctime_ns, long_ago.ctime_ns) == (-1, now, now)


def test_files_dated_ahead_are_restored_and_undone_like_others(tmp_path: Path):
    """To a restore, a date in the future makes a file doubtful, so that it is compared and not trusted."""
    with Project(tmp_path) as project:
        path = project.write("file", b"one")
        os.utime(path, ns=(time.time_ns() + 400 * DAY,) * 2)
        first = project.workspace.start()
        project.write("file", b"two")
        os.utime(path, ns=(time.time_ns() + 400 * DAY,) * 2)
        assert project.workspace.restore(str(first.number)).conflicts == ()
        assert path.read_bytes() == b"one"
        project.workspace.undo()
        assert path.read_bytes() == b"two"
