"""Many who wait never delay those who need not wait."""

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.server import deliveries, ledger
from backtraild.server.loop import Loop
from support.answering import Answering, answering
from support.watching import eventually


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Answering]:
    with answering(tmp_path, auto_checkpoint=False) as found:
        yield found


def loop_of(server: Answering) -> Loop:
    """Where one can see what waits."""
    assert server.server._loop is not None
    return server.server._loop


def test_a_hundred_who_wait_for_one_workspace_delay_nobody_else(server: Answering):
    """An agent saves in a huge folder while a person works in a small one."""
    huge, small = server.watch("huge", a="content"), server.watch("small", a="content")
    with contextlib.ExitStack() as stack:
        with server.busy(huge):
            waiting = [stack.enter_context(server.wire()) for _ in range(100)]
            for wire in waiting:
                wire.send("save", workspace=huge, allow_empty=True)
                wire.send("list", workspace=str(server.folder / "huge" / "inside"))
            with server.wire() as wire:
                for _ in range(20):
                    started = time.monotonic()
                    assert wire.result("ping")
                    assert wire.result("status", workspace=huge)["checkpoints"] == 1
                    assert wire.result("status", workspace=small)["state"] == "watching"
                    assert wire.result("save", workspace=small, allow_empty=True)
                    assert wire.result("workspaces")
                    assert time.monotonic() - started < 5
            assert all(wire.is_silent(0) for wire in waiting)
        for wire in waiting:
            assert "result" in wire.receive()
            assert "result" in wire.receive()
    assert server.service.status(huge).checkpoints == 101


def test_who_asks_too_much_is_told_so_and_others_are_served(
    server: Answering, monkeypatch: pytest.MonkeyPatch
):
    """A program in an endless loop sends and never reads."""
    monkeypatch.setattr(ledger, "MAX_OF_ONE", 50)
    workspace = server.watch(a="content")
    with server.wire() as wild, server.wire() as other:
        with server.busy(workspace):
            for _ in range(60):
                wild.send("get", workspace=workspace, checkpoint="1")
            refused = [wild.receive() for _ in range(10)]
            assert {answer["error"]["data"]["code"] for answer in refused} == {"busy"}
            assert wild.is_silent(0.05)
            assert other.result("ping")
            assert other.result("status", workspace=workspace)
        assert sum("result" in wild.receive() for _ in range(50)) == 50
        assert wild.result("ping")


def test_answers_wait_for_a_client_that_reads_late(server: Answering):
    """More than ZeroMQ holds, and all of them arrive."""
    root = server.folder_with("large")
    (root / "file").write_bytes(b"x" * 1_000_000)
    workspace = server.watch("large")
    with server.wire(rcvhwm=1) as late, server.wire() as other:
        wanted = [late.send("read", workspace=workspace, checkpoint="1:file") for _ in range(100)]
        eventually(lambda: loop_of(server)._deliveries._queues)
        assert other.result("ping")
        answers = [late.receive() for _ in range(100)]
        assert [answer["id"] for answer in answers] == wanted
        assert all(answer["result"]["size"] == 1_000_000 for answer in answers)


def test_a_client_that_leaves_without_its_answers_is_forgotten(server: Answering):
    """Nothing is kept for somebody who never comes back."""
    root = server.folder_with("large")
    (root / "file").write_bytes(b"x" * 1_000_000)
    workspace = server.watch("large")
    with server.wire(rcvhwm=1) as gone:
        for _ in range(100):
            gone.send("read", workspace=workspace, checkpoint="1:file")
        eventually(lambda: loop_of(server)._deliveries._queues)
    loop = loop_of(server)
    eventually(lambda: (loop._ledger._of_all, loop._ledger._bytes) == (0, 0))
    assert not loop._deliveries._queues


def test_a_client_that_never_reads_is_told_so_before_it_fills_the_memory(
    server: Answering, monkeypatch: pytest.MonkeyPatch
):
    """A thousand requests for large files are small; their answers are gigabytes."""
    monkeypatch.setattr(ledger, "MAX_BYTES_OF_ONE", 20_000_000)
    monkeypatch.setattr(deliveries, "MAX_LEAVING_BYTES", 4_000_000)
    (server.folder_with("large") / "file").write_bytes(b"x" * 1_000_000)
    workspace = server.watch("large")
    with server.wire(rcvhwm=1) as deaf, server.wire() as other:
        for _ in range(60):
            deaf.send("read", workspace=workspace, checkpoint="1:file")
        saved = deaf.send("save", workspace=workspace, allow_empty=True, message="x" * 100_000)
        eventually(lambda: server.service.status(workspace).checkpoints == 2)
        assert other.result("read", workspace=workspace, checkpoint="1:file")["size"] == 1_000_000
        book = loop_of(server)._ledger
        assert max(book._bytes_of_one.values()) < 21_000_000
        answers = [deaf.receive() for _ in range(61)]
        told = [answer for answer in answers if "error" in answer]
        assert {answer["error"]["data"]["code"] for answer in told} == {"busy"}
        assert 20 < len(told) < 50, len(told)
        assert next(answer for answer in answers if answer["id"] == saved)["result"]["number"] == 2
        assert deaf.result("read", workspace=workspace, checkpoint="1:file")["size"] == 1_000_000
        eventually(lambda: (book._of_all, book._bytes) == (0, 0))


def test_what_zeromq_holds_for_a_client_that_never_reads_is_bounded(
    server: Answering, monkeypatch: pytest.MonkeyPatch
):
    """What was handed to it can't be counted any more, nor taken back."""
    monkeypatch.setattr(deliveries, "MAX_LEAVING_BYTES", 4_000_000)
    (server.folder_with("large") / "file").write_bytes(b"x" * 1_000_000)
    workspace = server.watch("large")
    with server.wire(rcvhwm=1) as deaf:
        for _ in range(30):
            deaf.send("read", workspace=workspace, checkpoint="1:file")
        queues = loop_of(server)._deliveries._queues
        eventually(lambda: sum(len(queue.waiting) for queue in list(queues.values())) > 15)
        (queue,) = queues.values()
        assert sum(ticket.size for ticket, _ in queue.leaving) < 6_000_000
        assert all("result" in deaf.receive() for _ in range(30))


def test_a_status_that_hangs_does_not_delay_what_needs_no_store(
    server: Answering, monkeypatch: pytest.MonkeyPatch
):
    """A store on a disk that went to sleep, and an editor that asks for its status every second."""
    over = threading.Event()
    workspace = server.watch(a="content")
    status = server.service.status
    monkeypatch.setattr(server.service, "status", lambda name: (over.wait(60), status(name))[1])
    inside = str(server.folder / "work" / "a")
    try:
        with server.wire() as slow, server.wire() as quick:
            asked = [slow.send("status", workspace=workspace) for _ in range(10)]
            assert quick.result("workspaces")
            assert quick.result("events", since=0)["events"]
            assert quick.result("save", workspace=inside, allow_empty=True)
            assert slow.is_silent(0)
            over.set()
            assert {slow.receive()["id"] for _ in asked} == set(asked)
    finally:
        over.set()


def test_slow_calls_do_not_delay_quick_ones(server: Answering, monkeypatch: pytest.MonkeyPatch):
    """Sixteen folders with a million files each are being watched for the first time."""
    over = threading.Event()
    monkeypatch.setattr(server.service, "verify", lambda *_, **__: over.wait(60))
    workspace = server.watch(a="content")
    try:
        with server.wire() as slow, server.wire() as quick:
            for _ in range(30):
                slow.send("verify", workspace=workspace)
            assert quick.result("status", workspace=workspace)
            assert quick.result("save", workspace=workspace, allow_empty=True)
    finally:
        over.set()
