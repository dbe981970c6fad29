"""The log of events does not grow for ever, and says what it no longer has."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backtraild.state import EventLog, eventlog, trimming


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EventLog]:
    monkeypatch.setattr(trimming, "KEPT_EVENTS", 20)
    monkeypatch.setattr(trimming, "BATCH", 7)
    found = opened(tmp_path)
    yield found
    found.close()


def opened(folder: Path) -> EventLog:
    return EventLog(str(folder / "events.db"), lambda _: None)


def fill(log: EventLog, count: int, workspace: str = "w") -> None:
    for _ in range(count):
        number = log.newest + 1
        log.append("checkpoint_created", workspace, "/" + workspace, number)


def trim_all(log: EventLog) -> int:
    rounds = 1
    while log.trim():
        rounds += 1
    return rounds


def age(folder: Path, days: int, up_to: int) -> None:
    """As if so much time had passed since these events."""
    connection = sqlite3.connect(folder / "events.db")
    with connection:
        for seq in range(1, up_to + 1):
            then = datetime.now(UTC) - timedelta(days=days * (up_to + 1 - seq) / up_to)
            connection.execute("UPDATE events SET timestamp = ? WHERE seq = ?", (then.isoformat(), seq))
    connection.close()


def seqs(log: EventLog, since: int = 0) -> list[int]:
    return [event.seq for event in log.since(since)]


def test_the_oldest_of_too_many_go_in_batches(log: EventLog):
    """A log that has grown for a year is trimmed without anybody having to wait for all of it."""
    fill(log, 50)
    assert trim_all(log) > 3
    assert seqs(log) == list(range(31, 51))
    assert log.first == 31


def test_too_few_stay_as_they_are_and_an_hour_passes_before_the_next_look(log: EventLog):
    """Trimming is no work for every moment in which nothing else is to be done."""
    fill(log, 10)
    assert not log.trim()
    fill(log, 40)
    assert not log.trim()
    assert seqs(log) == list(range(1, 51))


def test_what_happened_more_than_three_months_ago_goes(tmp_path: Path, log: EventLog):
    """Few events in a long time are old all the same."""
    fill(log, 10)
    age(tmp_path, 200, 10)
    trim_all(log)
    kept = seqs(log)
    assert kept == list(range(log.first, 11))
    assert 2 <= len(kept) <= 6


def test_what_has_been_told_is_known_after_trimming(tmp_path: Path, log: EventLog):
    """Otherwise every checkpoint of a quiet workspace would be told again at the next start."""
    fill(log, 3, "quiet")
    log.append("degraded", "quiet", "/quiet", data={"reason": "?"})
    fill(log, 60)
    trim_all(log)
    assert log.last_checkpoint("quiet") == 3
    assert log.last_checkpoint("w") == 64
    assert seqs(log)[0] == log.first == 45


def test_a_new_start_knows_where_the_log_begins(tmp_path: Path, log: EventLog):
    """A client that was away for long asks another run of the daemon."""
    fill(log, 50)
    trim_all(log)
    again = opened(tmp_path)
    try:
        assert (again.first, again.newest) == (31, 50)
    finally:
        again.close()


def test_a_clock_that_runs_ahead_for_an_hour_costs_no_events(
    tmp_path: Path, log: EventLog, monkeypatch: pytest.MonkeyPatch
):
    """They would be gone for good when the clock is right again."""
    fill(log, 10)

    class Ahead(datetime):
        @classmethod
        def now(cls, _: object = None) -> datetime:
            return datetime.now(UTC) + timedelta(days=4000)

    monkeypatch.setattr(eventlog, "datetime", Ahead)
    fill(log, 5)
    trim_all(log)
    assert log.first == 1
