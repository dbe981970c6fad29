"""The watchdog is fed while the daemon answers, and only then."""

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtraild import liveness
from backtraild.liveness import Liveness, interval
from support.listening import Ear, listening
from support.watching import eventually


@pytest.fixture
def ear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ear]:
    """A manager whose watchdog wants to be fed every 30 ms; the daemon may be as quick as that here."""
    monkeypatch.setattr(liveness, "SHORTEST", 0.01)
    monkeypatch.setenv("WATCHDOG_USEC", "30000")
    with listening(tmp_path, monkeypatch) as found:
        yield found


class Daemon:
    """Something that answers or does not, and counts how often it was asked."""

    def __init__(self, answer: Callable[[], bool] = lambda: True) -> None:
        self.answer = answer
        self.asked = 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.answer()


def feeders() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "liveness"]


def test_a_daemon_that_answers_feeds_the_watchdog_again_and_again(ear: Ear):
    """A manager that hears nothing for a turn kills the daemon."""
    feeding = Liveness(Daemon())
    feeding.start()
    assert [ear.hear() for _ in range(5)] == [b"WATCHDOG=1"] * 5
    feeding.stop()


def failing() -> bool:
    raise TimeoutError("no answer within 5 seconds")


@pytest.mark.parametrize("answer", [lambda: False, failing], ids=["says no", "raises"])
def test_a_daemon_that_does_not_answer_starves_it_and_says_so_once(
    answer: Callable[[], bool], ear: Ear, caplog: pytest.LogCaptureFixture
):
    """A process that merely exists is no use: it must be restarted, and the log must say why."""
    daemon = Daemon(answer)
    feeding = Liveness(daemon)
    with caplog.at_level(logging.INFO):
        feeding.start()
        eventually(lambda: daemon.asked >= 5)
        feeding.stop()
    assert ear.hear(0) == b""
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert ("no answer within 5 seconds" in caplog.text) == (answer is failing)


def test_a_daemon_that_answers_again_is_fed_again(ear: Ear, caplog: pytest.LogCaptureFixture):
    """One bad moment on a busy machine is forgiven, and the next one is reported again."""
    answers = iter([False, False, True, False])
    feeding = Liveness(Daemon(lambda: next(answers, True)))
    feeding.start()
    assert [ear.hear() for _ in range(3)] == [b"WATCHDOG=1"] * 3
    feeding.stop()
    assert len([record for record in caplog.records if record.levelname == "ERROR"]) == 2


def test_it_stops_at_once_and_feeds_no_more_even_while_a_check_hangs(
    ear: Ear, caplog: pytest.LogCaptureFixture
):
    """The end of the daemon must not wait for an answer that will never come."""
    asked, hold = threading.Event(), threading.Event()
    feeding = Liveness(Daemon(lambda: bool(asked.set() or hold.wait(30))))
    feeding.start()
    assert asked.wait(10)
    started = time.monotonic()
    feeding.stop()
    assert time.monotonic() - started < 1
    hold.set()
    eventually(lambda: not feeders())
    assert ear.hear(0) == b""
    assert not caplog.records


def test_a_long_turn_does_not_delay_the_end(ear: Ear, monkeypatch: pytest.MonkeyPatch):
    """Between two feedings the thread sleeps for ten seconds and more."""
    monkeypatch.setenv("WATCHDOG_USEC", "30000000")
    feeding = Liveness(Daemon())
    feeding.start()
    assert ear.hear() == b"WATCHDOG=1"
    feeding.stop()
    eventually(lambda: not feeders(), 5)


def test_without_a_watchdog_nothing_runs(ear: Ear, monkeypatch: pytest.MonkeyPatch):
    """An idle daemon that nobody supervises need not wake up at all."""
    monkeypatch.delenv("WATCHDOG_USEC")
    daemon = Daemon()
    Liveness(daemon).start()
    assert not feeders()
    assert daemon.asked == 0


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({"WATCHDOG_USEC": "30000000"}, 10.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 10.0),
        ({"WATCHDOG_USEC": "2000000"}, 1.0),
        ({"WATCHDOG_USEC": "1"}, 1.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid() + 1)}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_it_is_fed_three_times_per_turn_but_never_more_than_once_a_second(
    environment: dict[str, str], seconds: float | None
):
    """Often enough to survive a busy moment, seldom enough to cost nothing, and only if this process is meant."""
    assert interval(environment, os.getpid()) == seconds
