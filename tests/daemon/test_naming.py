"""Names of checkpoints and times, as people type them, against a history held in memory."""

import contextlib
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtrail.errors import AmbiguousCheckpoint, BacktrailError, UnknownCheckpoint, UsageError
from backtraild.naming import Name, parse_time, resolve, split

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 16, 9, 30, 15, tzinfo=BERLIN)


class Checkpoints:
    """A history: number → (hex id, time)."""

    def __init__(self, checkpoints: dict[int, tuple[str, datetime]]) -> None:
        self.checkpoints = checkpoints

    def newest(self, skip: int) -> int | None:
        numbers = sorted(self.checkpoints, reverse=True)
        return numbers[skip] if skip < len(numbers) else None

    def oldest(self) -> int | None:
        return min(self.checkpoints, default=None)

    def has(self, number: int) -> bool:
        assert number < 2**63, "SQLite cannot hold such a number"
        return number in self.checkpoints

    def by_prefix(self, prefix: str) -> Sequence[tuple[int, str]]:
        assert len(prefix) >= 4
        return [(number, id_) for number, (id_, _) in self.checkpoints.items() if id_.startswith(prefix)]

    def newest_at(self, time: datetime) -> int | None:
        assert time.tzinfo is UTC
        return max((n for n, (_, made) in self.checkpoints.items() if made <= time), default=None)


def made(hours_ago: float) -> datetime:
    return NOW - timedelta(hours=hours_ago)


# Number 3 was deleted. The id of 7 begins with digits that are no number here, that of 8 with those of 42.
HISTORY = Checkpoints(
    {
        1: ("aaaa" + "0" * 36, made(72)),
        2: ("abcd1234" + "0" * 32, made(48)),
        4: ("abcd5678" + "0" * 32, made(24)),
        7: ("123456" + "a" * 34, made(2)),
        8: ("0042" + "b" * 36, made(1)),
        42: ("4" * 40, made(0.01)),
    }
)


def number(name: str) -> int:
    return resolve(name, HISTORY, NOW, BERLIN)


def at(text: str, *, last: bool = True, now: datetime = NOW) -> str:
    return parse_time(text, now, BERLIN, last=last).isoformat()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("42", 42),
        (" 42 ", 42),
        ("@", 42),
        ("@~0", 42),
        ("@~", 8),
        ("@~1", 8),
        ("@~3", 4),
        ("@~5", 1),
        ("aaaa", 1),
        ("AAAA0", 1),
        ("abcd1", 2),
        ("abcd5678" + "0" * 32, 4),
        ("@{now}", 42),
        ("@{90 minutes ago}", 7),
        ("@{yesterday}", 4),
        ("@{2026-11-14 09:30}", 2),
        ("@{2026-11-14}", 2),
    ],
)
def test_a_name_leads_to_its_checkpoint(name: str, expected: int) -> None:
    """Numbers, ids, places before the newest and times: the forms that the interface promises."""
    assert number(name) == expected


def test_before_the_newest_counts_only_checkpoints_that_still_exist() -> None:
    """Thinning leaves holes in the numbers; "three before" means three that can be restored."""
    assert [number(f"@~{n}") for n in range(6)] == [42, 8, 7, 4, 2, 1]


def test_digits_are_a_number_first_and_the_beginning_of_an_id_otherwise() -> None:
    """Numbers are what people type; an id made of digits must still be found."""
    assert number("42") == 42
    assert number("1234") == 7
    assert number("4444") == 42


def test_digits_that_begin_with_a_zero_are_part_of_an_id() -> None:
    """`0042` was copied from an id; taking it for 42 would restore the wrong state without a word."""
    assert number("0042") == 8
    with pytest.raises(UnknownCheckpoint):
        number("042")


def test_an_id_of_forty_digits_is_never_taken_for_a_number() -> None:
    """The table of checkpoints cannot even be asked for so large a number."""
    assert number("4" * 40) == 42


@pytest.mark.parametrize(
    "name", ["3", "99", "99999", "dead", "@~6", "@~999999999999999999", "@{2020-01-01}", "0", "-1"]
)
def test_a_checkpoint_that_does_not_exist_is_said_to_be_unknown(name: str) -> None:
    """The exit code tells scripts, the hint tells people what there is."""
    with pytest.raises(UnknownCheckpoint) as caught:
        number(name)
    assert type(caught.value) is UnknownCheckpoint
    assert caught.value.hint


def test_the_hint_says_which_numbers_exist() -> None:
    """Whoever typed 99 wants to know where the numbers end."""
    with pytest.raises(UnknownCheckpoint, match="no checkpoint 99") as caught:
        number("99")
    assert "from 1 to 42" in caught.value.hint


@pytest.mark.parametrize("name", ["@", "@~1", "1", "abcd", "@{now}"])
def test_in_an_empty_workspace_the_hint_is_to_save(name: str) -> None:
    """Right after `watch --no-wait` there may be nothing yet."""
    with pytest.raises(UnknownCheckpoint) as caught:
        resolve(name, Checkpoints({}), NOW)
    assert "backtrail save" in caught.value.hint


def test_an_ambiguous_prefix_names_its_candidates() -> None:
    """The next attempt should succeed, so the candidates are shown with enough of their ids."""
    with pytest.raises(AmbiguousCheckpoint) as caught:
        number("ABCD")
    assert "4 (abcd56780000), 2 (abcd12340000)" in caught.value.message


def test_of_many_candidates_five_are_named() -> None:
    """A thousand candidates would bury the sentence."""
    crowd = Checkpoints({n: (f"abcd{n:036x}", made(1)) for n in range(1, 13)})
    with pytest.raises(AmbiguousCheckpoint) as caught:
        resolve("abcd", crowd, NOW)
    assert caught.value.message.startswith("“abcd” could be 12 checkpoints: 12 (")
    assert caught.value.message.endswith("8 (abcd00000000) and 7 more.")


def test_three_characters_of_an_id_are_too_few() -> None:
    """Short prefixes become ambiguous the next day; the hint says how many are needed."""
    with pytest.raises(UnknownCheckpoint) as caught:
        number("abc")
    assert "4 or more" in caught.value.hint


@pytest.mark.parametrize(
    "name", ["", "  ", "@~x", "@3", "@@", "@{", "@{}", "@{whenever}", "@{now}x", "@^", "42:a"]
)
def test_a_name_that_makes_no_sense_is_a_usage_error_with_the_forms_that_do(name: str) -> None:
    """The shell, an editor or a typo produced it; nobody should have to look up the forms."""
    with pytest.raises(UsageError) as caught:
        number(name)
    assert caught.value.hint


def test_a_word_that_is_no_id_is_unknown_and_the_forms_are_listed() -> None:
    """`restore latest` is a guess at our syntax; the answer teaches it."""
    with pytest.raises(UnknownCheckpoint, match="latest") as caught:
        number("latest")
    assert "@~3" in caught.value.hint


@given(name=st.text(max_size=30))
def test_no_text_whatever_makes_naming_crash(name: str) -> None:
    """Names arrive from the wire; only errors made for people may come out, and they can be printed."""
    said = ""
    try:
        number(name)
        split(name)
    except BacktrailError as error:
        said = error.message
    assert said.isprintable()


# --- a file in a checkpoint


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("42", Name("42")),
        ("42:src/app.py", Name("42", b"src/app.py")),
        ("@:a", Name("@", b"a")),
        ("@{14:03}", Name("@{14:03}")),
        ("@{14:03}:a:b", Name("@{14:03}", b"a:b")),
        ("@~2:with } brace", Name("@~2", b"with } brace")),
        ("42:./src//app.py", Name("42", b"src/app.py")),
        ("42:caf\u00e9", Name("42", "caf\u00e9".encode())),
        ('42:"caf\\351"', Name("42", b"caf\xe9")),
    ],
)
def test_a_file_in_a_checkpoint_is_named_after_a_colon(text: str, name: Name) -> None:
    """`show @{14:03}:src/app.py` prints yesterday's file; the colon in the time is not the separator."""
    assert split(text) == name


@pytest.mark.parametrize(
    "text", ["42:", "42:/etc/passwd", "42:../x", "42:a/../b", "42:a\0", "42:\ud800", "42:."]
)
def test_a_path_that_leaves_the_workspace_or_names_nothing_is_refused(text: str) -> None:
    """Paths are relative to the workspace; anything else is a mistake or an attack."""
    with pytest.raises(UsageError):
        split(text)


# --- times


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("now", "2026-11-16T08:30:15", "2026-11-16T08:30:15"),
        ("10 minutes ago", "2026-11-16T08:20:15", "2026-11-16T08:20:15"),
        ("2h ago", "2026-11-16T06:30:15", "2026-11-16T06:30:15"),
        ("2h30m ago", "2026-11-16T06:00:15", "2026-11-16T06:00:15"),
        ("An Hour  ago", "2026-11-16T07:30:15", "2026-11-16T07:30:15"),
        ("1 hour, 5 mins and 10 sec ago", "2026-11-16T07:25:05", "2026-11-16T07:25:05"),
        ("3 days ago", "2026-11-13T08:30:15", "2026-11-13T08:30:15"),
        ("a week ago", "2026-11-09T08:30:15", "2026-11-09T08:30:15"),
        ("yesterday", "2026-11-14T23:00:00", "2026-11-15T22:59:59.999999"),
        ("today", "2026-11-15T23:00:00", "2026-11-16T22:59:59.999999"),
        ("yesterday 14:03", "2026-11-15T13:03:00", "2026-11-15T13:03:59.999999"),
        ("yesterday at 9:05", "2026-11-15T08:05:00", "2026-11-15T08:05:59.999999"),
        ("14:03", "2026-11-16T13:03:00", "2026-11-16T13:03:59.999999"),
        ("14:03:22", "2026-11-16T13:03:22", "2026-11-16T13:03:22.999999"),
        ("2026-11-15", "2026-11-14T23:00:00", "2026-11-15T22:59:59.999999"),
        ("2026-11-15 14:03", "2026-11-15T13:03:00", "2026-11-15T13:03:59.999999"),
        ("2026-11-15T14:03Z", "2026-11-15T14:03:00", "2026-11-15T14:03:59.999999"),
        ("2026-11-15 14:03 UTC", "2026-11-15T14:03:00", "2026-11-15T14:03:59.999999"),
        ("2026-11-15T14:03:22+05:30", "2026-11-15T08:33:22", "2026-11-15T08:33:22.999999"),
        ("2026-11-15T14:03:22-0800", "2026-11-15T22:03:22", "2026-11-15T22:03:22.999999"),
        ("2026-11-15T14:03:22.5Z", "2026-11-15T14:03:22.500000", "2026-11-15T14:03:22.599999"),
        ("2026-11-15T14:03:22.123456Z", "2026-11-15T14:03:22.123456", "2026-11-15T14:03:22.123456"),
        ("2026-11-15T14:03:22.123456789Z", "2026-11-15T14:03:22.123456", "2026-11-15T14:03:22.123456"),
        ("2026-07-01 12:00", "2026-07-01T10:00:00", "2026-07-01T10:00:59.999999"),
    ],
)
def test_a_time_stands_for_the_whole_minute_or_day_that_was_said(text: str, first: str, last: str) -> None:
    """A list shows 14:03 for a checkpoint made at 14:03:27; whoever types 14:03 means that one."""
    assert at(text, last=False) == f"{first}+00:00"
    assert at(text) == f"{last}+00:00"


def test_a_date_alone_finds_the_last_checkpoint_of_that_day() -> None:
    """ "How it was on the 15th" is how it was in the evening, whatever the time is now."""
    day = Checkpoints({n: (f"{n:040x}", datetime(2026, 11, 15, n, tzinfo=BERLIN)) for n in (8, 12, 23)})
    assert resolve("@{2026-11-15}", day, NOW, BERLIN) == 23
    assert resolve("@{2026-11-15 12:00}", day, NOW, BERLIN) == 12


def test_the_timestamp_that_json_shows_finds_its_own_checkpoint() -> None:
    """Scripts paste what they were given, to the microsecond and in UTC."""
    moment = datetime(2026, 11, 15, 14, 3, 22, 123456, tzinfo=UTC)
    history = Checkpoints({1: ("a" * 40, moment), 2: ("b" * 40, moment + timedelta(microseconds=1))})
    assert resolve("@{2026-11-15T14:03:22.123456Z}", history, NOW, BERLIN) == 1
    assert resolve("@{2026-11-15T14:03:22.123Z}", history, NOW, BERLIN) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a month ago", "2026-02-28T11:00:00+00:00"),
        ("1 year ago", "2025-03-31T10:00:00+00:00"),
        ("13 months ago", "2025-02-28T11:00:00+00:00"),
        ("1 month and 1 day ago", "2026-02-28T11:00:00+00:00"),
    ],
)
def test_months_and_years_go_by_the_calendar_and_keep_the_hour(text: str, expected: str) -> None:
    """A month before 31 March is the end of February, at the same time of day, in summer or winter time."""
    assert at(text, now=datetime(2026, 3, 31, 12, tzinfo=BERLIN)) == expected


def test_an_hour_that_comes_twice_counts_from_its_first_to_its_second() -> None:
    """When clocks go back, 02:30 is said of two instants; neither end of the range may leave one out."""
    assert at("2026-10-25 02:30", last=False) == "2026-10-25T00:30:00+00:00"
    assert at("2026-10-25 02:30") == "2026-10-25T01:30:59.999999+00:00"


def test_an_hour_that_never_comes_is_taken_for_one_beside_it() -> None:
    """When clocks go forward, 02:30 does not exist; that is no reason to fail."""
    assert at("2026-03-29 02:30", last=False) == "2026-03-29T00:30:00+00:00"
    assert at("2026-03-29 02:30") == "2026-03-29T01:30:59.999999+00:00"


def test_a_day_on_which_clocks_change_has_23_or_25_hours() -> None:
    """A list since that day must begin at its midnight and end at the next."""
    for day, hours in (("2026-03-29", 23), ("2026-10-25", 25)):
        span = parse_time(day, NOW, BERLIN) - parse_time(day, NOW, BERLIN, last=False)
        assert span == timedelta(hours=hours) - timedelta(microseconds=1)


def test_without_a_zone_the_machines_own_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """A time in July is in summer time, also when it is asked for in November."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert parse_time("2026-07-01 12:00", NOW, last=False) == datetime(2026, 7, 1, 10, tzinfo=UTC)
        assert parse_time("2026-12-01 12:00", NOW, last=False) == datetime(2026, 12, 1, 11, tzinfo=UTC)
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "ago",
        " ago",
        "5 ago",
        "minutes ago",
        "5 parsecs ago",
        "5ms ago",
        "5 minutes",
        "2026-13-01",
        "2026-02-30",
        "25:00",
        "14:60",
        "2026-11-15Z",
        "Z",
        "9999-12-31",
        "0001-01-01",
        "999999999999 days ago",
        "9" * 5000 + " days ago",
        "99999 years ago",
        "2026-11-15 14:03 +99:00",
        "١٤:٠٣",
    ],
)
def test_a_time_that_makes_no_sense_is_a_usage_error_that_lists_forms(text: str) -> None:
    """Guessing would pick the wrong checkpoint; the forms are shown instead."""
    with pytest.raises(UsageError) as caught:
        parse_time(text, NOW, BERLIN, last=text != "0001-01-01")
    assert "10 minutes ago" in caught.value.hint


@given(text=st.from_regex(r"[0-9a-z :+.,T-]{0,25}( ago)?", fullmatch=True), last=st.booleans())
def test_a_time_is_an_instant_in_utc_or_a_usage_error(text: str, last: bool) -> None:
    """`--since` comes from the wire as it was typed."""
    with contextlib.suppress(UsageError):
        assert parse_time(text, NOW, BERLIN, last=last).tzinfo is UTC


@given(moment=st.datetimes(min_value=datetime(1970, 1, 2), max_value=datetime(2100, 1, 1)))  # noqa: DTZ001
def test_every_local_minute_of_any_year_is_understood(moment: datetime) -> None:
    """Also those around a change of the clocks."""
    text = f"{moment:%Y-%m-%d %H:%M}"
    first, last = (parse_time(text, NOW, BERLIN, last=last) for last in (False, True))
    assert timedelta(0) < last - first < timedelta(hours=2)
