"""Answers are sent by whoever made them, and nobody goes unheard because of that."""

import select
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import zmq

from backtrail import protocol
from backtraild.server import loop
from backtraild.server.deliveries import Deliveries
from backtraild.server.ledger import Ticket
from support.answering import Answering, answering
from support.watching import eventually
from support.wire import Wire

ASKING, QUESTIONS = 4, 300


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answering]:
    # The loop looks at its sockets with every heartbeat, which would end the wait of those that it did not hear.
    monkeypatch.setattr(protocol, "HEARTBEAT_SECONDS", 600.0)
    with answering(tmp_path, auto_checkpoint=False) as found:
        yield found


def test_the_thread_that_has_an_answer_sends_it(server: Answering, monkeypatch: pytest.MonkeyPatch):
    """To wake another one for it takes a tenth of a millisecond, which is a tenth of a small question."""
    workspace = server.watch(a="content")
    senders: list[str] = []
    send = Deliveries.send

    def noted(self: Deliveries, ticket: Ticket, answer: bytes) -> None:
        senders.append(threading.current_thread().name)
        send(self, ticket, answer)

    monkeypatch.setattr(Deliveries, "send", noted)
    with server.wire() as wire:
        assert wire.result("ping")
        assert wire.result("list", workspace=workspace)["checkpoints"]
    assert senders == ["sockets", f"worker {workspace}"]


class Deaf:
    """Waits like the real one, but hears nothing of requests: as if another thread had been told of all of them."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._registered = 0
        self.poll = self._poll.poll

    def register(self, descriptor: int, events: int) -> None:
        """Those who want to come in, requests, and errands, in this order."""
        self._registered += 1
        if self._registered != 2:
            self._poll.register(descriptor, events)


def test_whoever_sends_an_answer_lets_the_loop_know_of_a_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """ZeroMQ tells one thread of a message; if that was the one that sends, the request would wait for ever."""
    monkeypatch.setattr(protocol, "HEARTBEAT_SECONDS", 600.0)
    monkeypatch.setattr(loop, "select", SimpleNamespace(poll=Deaf, POLLIN=select.POLLIN))
    with (
        answering(tmp_path, auto_checkpoint=False) as server,
        server.wire() as first,
        server.wire() as second,
    ):
        workspace = server.watch(a="content")
        with server.busy(workspace):
            first.send("list", workspace=workspace)
            eventually(lambda: server.server._outbox.wake() or has_request(server, workspace))
            leave_unheard(server, second)
        assert "result" in first.receive()
        assert "result" in second.receive()


def has_request(server: Answering, workspace: str) -> bool:
    """Has the worker something to do, which it can't do yet?"""
    return not server.service.worker(workspace)._inbox.is_empty


def leave_unheard(server: Answering, wire: Wire) -> None:
    """Send a request that nobody takes. Events that go out still wake the loop, which takes it: once more."""
    for _ in range(100):
        wire.send("ping")
        eventually(lambda: waits(server) or not wire.is_silent(0))
        if wire.is_silent(0):
            return
        wire.receive()
    raise AssertionError("the loop hears of every request")


def waits(server: Answering) -> bool:
    """Is there a request that nobody has taken?"""
    found = server.server._loop
    assert found is not None
    with found._at_sockets:
        return bool(found._sockets.requests.events & zmq.POLLIN)


def test_a_request_that_comes_while_others_are_answered_is_heard_at_once(server: Answering):
    """ZeroMQ tells of a message once, and it may tell the thread that was just sending an answer."""
    workspace = server.watch(a="content")
    answered: list[int] = []

    def ask() -> None:
        with server.wire() as wire:
            for number in range(QUESTIONS):
                assert wire.result("list" if number % 3 else "status", workspace=workspace)
            answered.append(QUESTIONS)

    asking = [threading.Thread(target=ask) for _ in range(ASKING)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert sum(answered) == ASKING * QUESTIONS
