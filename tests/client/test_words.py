"""Times, sizes and counts as people say them."""

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from backtrail.amounts import size
from backtrail.cli.words import ago, count, numbers, rounded, since

NOW = datetime(2026, 11, 16, 14, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "told"),
    [
        (timedelta(seconds=0), "just now"),
        (timedelta(seconds=-30), "just now"),
        (timedelta(seconds=42), "42 seconds ago"),
        (timedelta(seconds=60), "1 minute ago"),
        (timedelta(minutes=59, seconds=59), "59 minutes ago"),
        (timedelta(hours=1), "today 13:30"),
        (timedelta(hours=14, minutes=30), "today 00:00"),
        (timedelta(hours=14, minutes=31), "yesterday 23:59"),
        (timedelta(days=1), "yesterday 14:30"),
        (timedelta(days=2), "2026-11-14 14:30"),
        (timedelta(days=-3), "2026-11-19 14:30"),
        (timedelta(minutes=-5), "today 14:35"),
    ],
)
def test_the_nearer_the_more_relative(age: timedelta, told: str) -> None:
    """I look for "before lunch" or "two minutes ago", not for a timestamp."""
    assert ago(NOW - age, NOW, UTC) == told


def test_the_day_is_that_of_the_persons_zone() -> None:
    """What was half past midnight in London was still yesterday on the Azores."""
    time = datetime(2026, 11, 16, 0, 30, tzinfo=UTC)
    assert ago(time, NOW, UTC) == "today 00:30"
    assert ago(time, NOW, timezone(timedelta(hours=-1))) == "yesterday 23:30"


def test_a_time_before_the_clocks_changed_is_told_as_the_clock_showed_it() -> None:
    """In winter, a checkpoint of last summer still has the time that the clock on the wall had."""
    summer = datetime(2026, 7, 1, 10, 0, tzinfo=UTC)
    assert ago(summer, NOW, ZoneInfo("Europe/Zurich")) == "2026-07-01 12:00"


@pytest.mark.parametrize(
    ("age", "told"),
    [
        (timedelta(seconds=-5), "0 seconds"),
        (timedelta(seconds=1), "1 second"),
        (timedelta(minutes=3), "3 minutes"),
        (timedelta(hours=30), "30 hours"),
        (timedelta(days=2), "2 days"),
    ],
)
def test_how_long_it_has_been_going_on(age: timedelta, told: str) -> None:
    """One unit is enough to know how old the daemon is."""
    assert since(NOW - age, NOW) == told


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9_949, "9.9 kB"),
        (9_950, "10 kB"),
        (999_499, "999 kB"),
        (999_500, "1.0 MB"),
        (34_000_000, "34 MB"),
        (4_700_000_000, "4.7 GB"),
        (12_345_000_000_000_000, "12,345 TB"),
    ],
)
def test_sizes_have_two_digits_or_three(number: int, told: str) -> None:
    """I want to know whether it is large, not every byte."""
    assert size(number) == told


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10k"),
        (801_234, "801k"),
        (999_500, "1.0M"),
        (123_000_000, "123M"),
    ],
)
def test_numbers_in_a_table_are_short(number: int, told: str) -> None:
    """One huge change must not push the messages of all others off the screen."""
    assert rounded(number) == told


def test_counts_agree_with_their_noun() -> None:
    """No `1 files`."""
    assert [count(number, "file") for number in (0, 1, 1200)] == ["0 files", "1 file", "1,200 files"]
    assert count(2, "entry", "entries") == "2 entries"


def test_runs_of_numbers_are_drawn_together() -> None:
    """A hundred dropped checkpoints fit on a line."""
    assert numbers([9, 3, 4, 5, 11, 12]) == "3–5, 9, 11, 12"
    assert numbers([]) == ""
