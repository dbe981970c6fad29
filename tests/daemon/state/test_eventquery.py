"""Asking the log of events: the same answer as a plain list gives, for the cost of a page."""

import itertools
import random
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backtraild.model import Event
from backtraild.state import EventLog, EventQuery

TYPES = ("checkpoint_created", "session_started", "turn_started", "turn_ended", "phase_changed")
BEGINNING = datetime(2026, 5, 6, 7, 8, 9, tzinfo=UTC)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[EventLog]:
    found = EventLog(str(tmp_path / "events.db"), lambda _: None)
    yield found
    found.close()


def fill(log: EventLog, count: int, seed: int) -> list[Event]:
    """Events of all sorts, at times that follow each other except where the clock was set back."""
    print(f"seed {seed}")
    source = random.Random(seed)
    log._connection.execute("BEGIN")  # one transaction: the test is not about writing
    for number in range(count):
        log.append(
            source.choice(TYPES),
            source.choice(["w", "w", "other"]),
            "/w",
            checkpoint=source.choice([None, number]),
            session=source.choice([None, "s", "t"]),
            data=source.choice([{}, {"phase": "plan"}, {"phase": "build", "turn": number}]),
        )
        moment = BEGINNING + timedelta(seconds=number if number < count // 2 else number - count // 4)
        log._connection.execute(
            "UPDATE events SET timestamp = ? WHERE seq = ?", (moment.isoformat(), log.newest)
        )
    log._connection.execute("COMMIT")
    return log.since(0, limit=count)


def expected(events: list[Event], query: EventQuery) -> list[Event]:
    """The answer, worked out from a plain list."""
    found = [
        event
        for event in events
        if (event.workspace, event.seq > query.after) == (query.workspace, True)
        and event.type in query.types
        and query.session in (None, event.session)
        and query.phase in (None, event.data.get("phase"))
        and query.checkpoint in (None, event.checkpoint)
        and (query.since is None or event.timestamp >= query.since)
        and (query.until is None or event.timestamp <= query.until)
    ]
    return found[: query.limit]


def test_every_combination_of_filters_gives_what_a_plain_list_gives(log: EventLog):
    """Filters that are right alone and wrong together hide what somebody looks for."""
    events = fill(log, 400, seed=5)
    times = [None, BEGINNING + timedelta(seconds=150), BEGINNING + timedelta(seconds=250)]
    combinations = itertools.product(
        [TYPES, TYPES[:1], TYPES[2:4]], [None, "s"], [None, "build"], times, times, [0, 120], [3, 1000]
    )
    seen = 0
    for types, session, phase, since, until, after, limit in combinations:
        query = EventQuery("w", types, after, limit, session, phase, None, since, until)
        found = log.find(query)
        assert found == expected(events, query), query
        seen += len(found)
    assert seen > 5_000
    for number in range(400):
        query = EventQuery("w", TYPES, checkpoint=number, session=random.Random(number).choice([None, "s"]))
        assert log.find(query) == expected(events, query)


def test_no_event_is_found_outside_of_its_time(log: EventLog):
    """A time before the first event, or after the last one, is a time in which nothing happened."""
    fill(log, 40, seed=6)
    day = timedelta(days=1)
    assert log.find(EventQuery("w", TYPES, since=BEGINNING + day)) == []
    assert log.find(EventQuery("w", TYPES, until=BEGINNING - day)) == []


def test_a_page_of_a_long_log_costs_a_page(log: EventLog):
    """Somebody who scrolls through a year of work waits for ten lines, not for a hundred thousand."""
    log._connection.execute("BEGIN")
    for number in range(10_000):
        rare = number % 500 == 0
        kind, session = ("phase_changed", "rare") if rare else (TYPES[number % 4], "s")
        log.append(kind, "w", "/w", checkpoint=number, session=session, data={"phase": session})
    log._connection.execute("COMMIT")
    rarely = {"session": "rare", "phase": "rare"}
    for wanted in ({}, {"session": "rare"}, {"phase": "rare"}, rarely, {"checkpoint": 7_000}):
        for types, after in itertools.product([TYPES, ("phase_changed",)], [0, 5_000, 9_000]):
            query = EventQuery("w", types, after, 10, **wanted)  # type: ignore[arg-type]
            # About 30 steps of SQLite's machine a line; all events would be more than 100,000.
            assert steps(log, query) < 1_000, query


def steps(log: EventLog, query: EventQuery) -> int:
    """How much SQLite does to answer."""
    taken = 0

    def count() -> None:
        nonlocal taken
        taken += 10

    log._connection.set_progress_handler(count, 10)
    log.find(query)
    log._connection.set_progress_handler(None, 0)
    return taken


def test_a_log_from_before_sessions_is_gone_on_with(tmp_path: Path):
    """An update of Backtrail must not cost the history."""
    old = sqlite3.connect(tmp_path / "events.db")
    old.executescript(
        "CREATE TABLE events (seq INTEGER PRIMARY KEY, epoch TEXT NOT NULL, type TEXT NOT NULL,"
        " workspace TEXT NOT NULL, root TEXT NOT NULL, timestamp TEXT NOT NULL, checkpoint INTEGER,"
        " session TEXT, data TEXT NOT NULL);"
        "INSERT INTO events VALUES"
        " (1, 'e', 'checkpoint_created', 'w', '/w', '2026-05-06T07:08:09+00:00', 1, NULL, '{}');"
    )
    old.close()
    for _ in range(2):
        log = EventLog(str(tmp_path / "events.db"), lambda _: None)
        assert log.set_aside is None
        log.append("session_started", "w", "/w", session="s", data={"phase": "plan"})
        found = log.find(EventQuery("w", ("session_started",), phase="plan"))
        log.close()
    assert [event.seq for event in found] == [2, 3]
