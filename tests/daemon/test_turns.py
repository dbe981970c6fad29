"""One at a time for each name."""

import threading

import pytest

from backtrail.errors import DaemonStopping
from backtraild.turns import Turns
from support.watching import eventually


def started(work) -> threading.Thread:
    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_the_second_waits_for_the_first_and_others_do_not():
    """A folder that takes long to let go of must hold up nobody but who wants the same one."""
    turns, gate, log = Turns(), threading.Event(), []

    def first() -> None:
        with turns.of("a"):
            log.append("first begins")
            gate.wait(10)
            log.append("first ends")

    def second() -> None:
        with turns.of("a"):
            log.append("second")

    threads = [started(first)]
    eventually(lambda: log == ["first begins"])
    threads.append(started(second))
    with turns.of("b"):
        assert log == ["first begins"]
    gate.set()
    for thread in threads:
        thread.join(10)
    assert log == ["first begins", "first ends", "second"]


def test_a_failure_lets_go_of_the_turn():
    """One request that fails must not block all later ones for ever."""
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.of("a"):
        raise ZeroDivisionError
    with turns.of("a"):
        pass


def test_closing_waits_for_those_who_are_busy_and_refuses_the_others():
    """When everything is let go of, nobody is left who uses it."""
    turns, gate, log = Turns(), threading.Event(), []

    def busy() -> None:
        with turns.of("a"):
            log.append("begun")
            gate.wait(10)
            log.append("done")

    def close() -> None:
        turns.close()
        log.append("closed")

    thread = started(busy)
    eventually(lambda: log == ["begun"])
    closing = started(close)
    eventually(lambda: turns._closed)
    with pytest.raises(DaemonStopping, match="stopping"), turns.of("b"):
        pass
    gate.set()
    thread.join(10)
    closing.join(10)
    assert log == ["begun", "done", "closed"]
    turns.close()
