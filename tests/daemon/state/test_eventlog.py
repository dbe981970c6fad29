"""The log of events: no holes, no disorder, over restarts, kills and damage."""

import contextlib
import os
import random
import signal
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed
from backtraild.model import Event
from backtraild.state import EventLog, announcing


@pytest.fixture
def told() -> list[Event]:
    return []


@pytest.fixture
def log(tmp_path: Path, told: list[Event]) -> Iterator[EventLog]:
    found = EventLog(str(tmp_path / "events.db"), told.append)
    yield found
    found.close()


def reopened(tmp_path: Path, told: list[Event] | None = None) -> EventLog:
    return EventLog(str(tmp_path / "events.db"), (told if told is not None else []).append)


def fill(log: EventLog, count: int, workspace: str = "w") -> None:
    for number in range(count):
        log.append("checkpoint_created", workspace, "/w", checkpoint=number + 1, data={"number": number})


def test_an_event_comes_back_as_it_was_published(log: EventLog, told: list[Event]):
    """Whoever joins late reads the same event as whoever was there."""
    log.append(
        "checkpoint_created", "w-1", "/w", 7, "session", {"message": "größer", "n": [1, None, {"a": 2.5}]}
    )
    assert log.since(0) == told
    assert told[0].timestamp.utcoffset() is not None
    assert (told[0].seq, told[0].type, told[0].checkpoint, told[0].session) == (
        1,
        "checkpoint_created",
        7,
        "session",
    )


def test_numbers_go_on_over_restarts_and_each_start_has_its_own_epoch(tmp_path: Path):
    """A subscriber asks for everything after the last number it saw, whichever daemon it saw it from."""
    epochs = set()
    for start in range(5):
        log = reopened(tmp_path)
        assert log.newest == 3 * start
        fill(log, 3)
        epochs.add(log.epoch)
        log.close()
    log = reopened(tmp_path)
    assert [event.seq for event in log.since(0)] == list(range(1, 16))
    log.close()
    assert len(epochs) == 5


def test_events_are_read_page_by_page_without_overlap_or_hole(log: EventLog):
    """A year's log does not fit into one answer."""
    for number in range(250):
        log.append("progress", f"w{number % 3}", "/w")
    seen, since = [], 0
    while page := log.since(since, limit=7):
        seen += [event.seq for event in page]
        since = page[-1].seq
    assert seen == list(range(1, 251))
    assert [event.seq for event in log.since(200, workspace="w0")] == [
        n for n in range(201, 251) if n % 3 == 1
    ]
    assert log.since(250) == []


def test_many_threads_publish_in_the_order_of_their_numbers(log: EventLog, told: list[Event]):
    """A subscriber that sees 6 before 5 takes 5 for lost."""

    def work(name: str) -> None:
        for number in range(100):
            log.append("progress", name, "/w", data={"number": number})

    threads = [threading.Thread(target=work, args=(f"w{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [event.seq for event in told] == list(range(1, 801))
    assert log.since(0) == told
    for name in {event.workspace for event in told}:
        assert [event.data["number"] for event in told if event.workspace == name] == list(range(100))


def test_what_is_held_back_is_in_the_log_at_once_and_published_later(log: EventLog, told: list[Event]):
    """Whoever reads the answer to a request may ask the log for its event; those who listen hear of it after that."""
    log.hold_back()
    event = log.append("checkpoint_created", "w", "/w", checkpoint=1)
    assert (log.since(0), told) == ([event], [])
    log.let_go()
    assert told == [event]
    assert told == [event, log.append("checkpoint_created", "w", "/w", checkpoint=2)]


def test_work_that_takes_long_holds_nothing_back(
    log: EventLog, told: list[Event], monkeypatch: pytest.MonkeyPatch
):
    """That a folder is degraded is heard when it is, and not at the end of a restore that takes minutes."""
    monkeypatch.setattr(announcing, "LONGEST_SECONDS", 0.0)
    log.hold_back()
    event = log.append("degraded", "w", "/w")
    assert told == [event]


def test_nobody_overtakes_what_is_held_back(log: EventLog, told: list[Event]):
    """The event of another folder has a higher number: it goes out behind, and waits for nobody."""
    log.hold_back()
    log.append("checkpoint_created", "w", "/w", checkpoint=1)
    other = threading.Thread(target=log.append, args=("checkpoint_created", "v", "/v", 1))
    other.start()
    other.join()
    assert [event.seq for event in told] == [1, 2]
    log.let_go()
    assert [event.seq for event in told] == [1, 2]


def test_the_event_of_a_checkpoint_is_written_after_the_answer(
    log: EventLog, told: list[Event], tmp_path: Path
):
    """Nobody who saves waits for the log: after a crash the checkpoint itself tells of the event again."""
    log.hold_back()
    event = log.append("checkpoint_created", "w", "/w", checkpoint=1, is_known_otherwise=True)
    assert (rows_in(tmp_path), log.newest) == (0, event.seq)
    log.let_go()
    assert (rows_in(tmp_path), told) == (1, [event])


def test_whoever_reads_the_log_finds_what_is_not_written_yet(log: EventLog):
    """To its reader, an event that waits and one that is in the file are the same."""
    log.hold_back()
    event = log.append("checkpoint_created", "w", "/w", checkpoint=1, is_known_otherwise=True)
    assert log.last_checkpoint("w") == 1
    assert log.since(0) == [event]


def test_an_event_that_nothing_else_tells_of_is_written_at_once_and_in_its_order(
    log: EventLog, tmp_path: Path
):
    """A turn that began is in no checkpoint: after a crash nobody could tell of it again."""
    log.hold_back()
    log.append("checkpoint_created", "w", "/w", checkpoint=1, is_known_otherwise=True)
    log.append("turn_started", "w", "/w")
    assert rows_in(tmp_path) == 2
    assert [event.type for event in log.since(0)] == ["checkpoint_created", "turn_started"]


def test_what_can_not_be_written_after_the_answer_is_written_later(
    log: EventLog, told: list[Event], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A full disk delays the event, and those after it; none is lost, and none has another's number."""
    log.hold_back()
    event = log.append("checkpoint_created", "w", "/w", checkpoint=1, is_known_otherwise=True)
    with monkeypatch.context() as patch:
        patch.setattr(log, "_insert", _refuse)
        log.let_go()
        with pytest.raises(StoreFailed):
            log.write_down()
        with pytest.raises(StoreFailed):
            log.append("degraded", "w", "/w")
    assert (told, log.newest) == ([], event.seq)
    later = log.append("recovered", "w", "/w")
    assert log.since(0) == told == [event, later]
    assert rows_in(tmp_path) == 2


def _refuse(_: Event) -> None:
    raise StoreFailed("The log of events can't be written: no space.")


def rows_in(folder: Path) -> int:
    """How many events are in the file, as another process sees it."""
    with contextlib.closing(sqlite3.connect(folder / "events.db")) as connection:
        return int(connection.execute("SELECT COUNT(*) FROM events").fetchone()[0])


@pytest.mark.parametrize("seed", range(4))
def test_a_kill_leaves_no_hole_and_loses_nothing_that_was_published(tmp_path: Path, seed: int):
    """What a subscriber has seen must be in the log afterwards, under the same number."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            log = EventLog(str(tmp_path / "events.db"), lambda event: os.write(writing, b"%08d" % event.seq))
            while True:
                log.append("progress", "w", "/w")
        finally:
            os._exit(1)
    os.close(writing)
    for _ in range(random.Random(seed).randrange(1, 200)):
        assert len(os.read(reading, 8)) == 8
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    published = b""
    while more := os.read(reading, 65536):
        published += more
    os.close(reading)
    log = reopened(tmp_path)
    numbers = [event.seq for event in log.since(0, limit=100_000)]
    assert numbers == list(range(1, len(numbers) + 1))
    if published:
        assert int(published[-8:]) <= len(numbers)
    assert log.append("progress", "w", "/w").seq == len(numbers) + 1
    log.close()


def test_the_last_checkpoint_told_is_counted_per_workspace(log: EventLog):
    """At start, checkpoints above it get the event that a crash swallowed."""
    fill(log, 5, "a")
    log.append("checkpoint_restored", "b", "/b", 9)
    log.append("checkpoint_deleted", "b", "/b", 12)
    assert (log.last_checkpoint("a"), log.last_checkpoint("b"), log.last_checkpoint("c")) == (5, 9, 0)


def test_a_subscriber_that_fails_does_not_fail_whoever_appends(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """A checkpoint is made whether somebody can be told of it or not."""

    def refuse(_: Event) -> None:
        raise RuntimeError("nobody listens")

    log = EventLog(str(tmp_path / "events.db"), refuse)
    assert log.append("progress", "w", "/w").seq == 1
    assert log.append("progress", "w", "/w").seq == 2
    log.close()
    assert "nobody listens" in caplog.text


def test_a_failed_append_takes_no_number(tmp_path: Path, told: list[Event]):
    """A number that was given out and is not in the log is a hole that nobody can fill."""
    log = reopened(tmp_path, told)
    log.append("progress", "w", "/w")
    with pytest.raises(TypeError):
        log.append("progress", "w", "/w", data={"object": object()})
    log._connection.execute(
        "CREATE TEMP TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(FAIL, 'full'); END"
    )
    with pytest.raises(StoreFailed, match="can't be written"):
        log.append("progress", "w", "/w")
    log._connection.execute("DROP TRIGGER full")
    assert log.append("progress", "w", "/w").seq == 2
    assert [event.seq for event in told] == [1, 2]
    log.close()


def test_a_log_that_was_opened_only_for_reading_is_written_again_as_soon_as_it_can_be(
    tmp_path: Path, told: list[Event]
):
    """SQLite falls back to reading when no descriptor is left at that moment, and would stay there for ever."""
    log = reopened(tmp_path, told)
    log.append("progress", "w", "/w")
    log._connection.close()
    log._connection = sqlite3.connect(
        f"file:{tmp_path / 'events.db'}?mode=ro", uri=True, isolation_level=None
    )
    assert log.append("progress", "w", "/w").seq == 2
    assert [event.seq for event in log.since(0)] == [1, 2]
    log.close()


def damage_all(path: Path) -> None:
    path.write_bytes(b"no database at all " * 500)


def damage_middle(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:] = bytes(len(content) - 4096)
    path.write_bytes(content)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [damage_all, damage_middle, cut])
def test_a_damaged_log_is_set_aside_and_numbers_go_on_above_the_old_ones(tmp_path: Path, damage):
    """The daemon must start, and no subscriber may take a new event for an old one it has already seen."""
    log = reopened(tmp_path)
    fill(log, 300)
    log._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    log.close()
    damage(tmp_path / "events.db")
    log = reopened(tmp_path)
    assert log.set_aside is not None
    assert Path(log.set_aside).exists()
    assert log.last_checkpoint("w") == 0, "so that the stores' checkpoints are told again"
    first = log.append("error", "", "")
    assert first.seq > 300
    assert log.append("error", "", "").seq == first.seq + 1
    assert log.since(300)[0] == first
    log.close()


def test_a_sound_log_is_not_set_aside(tmp_path: Path):
    """Else the test above proves nothing."""
    for _ in range(2):
        log = reopened(tmp_path)
        fill(log, 3)
        log.close()
        assert log.set_aside is None
    assert sorted(os.listdir(tmp_path)) == ["events.db", "events.db.reserved"]


def test_a_lost_reserve_is_made_again(tmp_path: Path):
    """It only matters once the log itself is lost as well."""
    log = reopened(tmp_path)
    fill(log, 2)
    log.close()
    (tmp_path / "events.db.reserved").write_bytes(b"garbage")
    log = reopened(tmp_path)
    assert log.append("progress", "w", "/w").seq == 3
    assert int((tmp_path / "events.db.reserved").read_bytes().split()[0]) > 3
    log.close()


def test_after_closing_an_append_says_so(tmp_path: Path):
    """A late thread gets an error with a name, not one of SQLite's."""
    log = reopened(tmp_path)
    log.close()
    with pytest.raises(StoreFailed):
        log.append("progress", "w", "/w")
    with pytest.raises(StoreFailed):
        log.since(0)


def test_a_log_that_may_not_be_opened_is_an_error_and_not_damage(tmp_path: Path):
    """Setting a log aside because of a wrong mode would lose it."""
    (tmp_path / "events.db").mkdir()
    with pytest.raises(StoreFailed, match="can't be opened"):
        reopened(tmp_path)
    assert (tmp_path / "events.db").is_dir()


def test_the_file_is_a_plain_table_for_whoever_looks(tmp_path: Path, log: EventLog):
    """With the daemon gone, `sqlite3 events.db` shows what happened."""
    fill(log, 2)
    connection = sqlite3.connect(tmp_path / "events.db")
    assert connection.execute("SELECT COUNT(*), MAX(checkpoint) FROM events").fetchone() == (2, 2)
    connection.close()
