"""Events as subscribers get them: in order, with heartbeats, and never at the cost of the daemon."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from backtrail import protocol, values
from backtraild.server import sockets
from support.answering import Answering, answering
from support.watching import eventually
from support.wire import Subscription


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Answering]:
    monkeypatch.setattr(protocol, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(sockets, "EVENTS_WAITING", 100)
    with answering(tmp_path, auto_checkpoint=False) as found:
        yield found


def joined(server: Answering, topic: str = "", **options: int) -> Subscription:
    """A subscription that has arrived."""
    events = Subscription(server.server.endpoints.events, topic, **options)
    events.socket.subscribe(protocol.HEARTBEAT_TOPIC)
    events.next_of("heartbeat")
    return events


def test_what_happens_is_published_as_it_is_logged(server: Answering):
    """The stream and `events` are the same thing twice."""
    with joined(server) as events:
        workspace = server.watch(a="content")
        seen = []
        while len(seen) < server.service.log.newest:
            topic, event = events.next()
            if topic != "heartbeat":
                assert topic == f"{workspace}/{event['type']}"
                seen.append(event)
        with server.wire() as wire:
            assert wire.result("events", since=0)["events"] == seen
    assert [msgspec.convert(event, values.CheckpointEvent).seq for event in seen] == [1, 2, 3]


def test_a_topic_narrows_what_comes(server: Answering):
    """Somebody waits for the checkpoints of one folder."""
    first = server.watch("one", a="content")
    second = server.watch("two", a="content")
    with server.subscription(f"{second}/checkpoint_created") as events, server.wire() as wire:

        def arrived() -> bool:
            for workspace in (first, second):
                wire.result("save", workspace=workspace, allow_empty=True)
            return bool(events.socket.poll(20))

        eventually(arrived)
        topic, event = events.next()
        assert (topic, event["workspace"]) == (f"{second}/checkpoint_created", second)


def test_a_heartbeat_tells_the_number_of_the_last_event(server: Answering):
    """A subscriber that lost the last event of all would otherwise never know."""
    with joined(server) as events:
        server.watch(a="content")
        newest = server.service.log.newest
        eventually(lambda: events.next_of("heartbeat")["seq"] == newest)
        assert events.next_of("heartbeat") == {"epoch": server.service.log.epoch, "seq": newest}


def test_progress_carries_the_request_it_belongs_to_and_no_number_of_its_own(server: Answering):
    """A progress bar is fed by these; they are not in the log."""
    root = server.folder_with("large")
    for number in range(4000):
        (root / f"{number}").write_text(f"{number}")
    with joined(server) as events, server.wire() as wire:
        request = wire.send("watch", path=str(root))
        progress, last = [], 0
        while True:
            topic, event = events.next()
            if topic.endswith("/progress"):
                assert event["seq"] == last
                progress.append(event["data"])
            elif topic != "heartbeat":
                last = event["seq"]
                if event["type"] == "initialized":
                    break
        assert "result" in wire.receive()
    mine = [data for data in progress if data["job"] == request]
    assert mine, "a baseline of 4,000 files tells nothing"
    assert mine == progress
    assert [data["done"] for data in mine] == sorted(data["done"] for data in mine)
    assert {(data["phase"], data["unit"]) for data in mine} == {("looking", "files")}
    assert len(server.service.events(0)) == last


def test_a_subscriber_that_does_not_read_holds_nobody_up_and_finds_what_it_missed(server: Answering):
    """A stopped program in a forgotten terminal."""
    workspace = server.watch(a="content")
    with joined(server, rcvhwm=1) as stopped, joined(server) as reading, server.wire() as wire:
        for _ in range(2_000):
            server.service.log.append("error", workspace, "/", data={"text": "x" * 2_000})
        newest = server.service.log.newest
        assert wire.result("ping")["seq"] == newest
        eventually(lambda: reading.next_of("heartbeat")["seq"] == newest)
        seen = {event["seq"] for topic, event in _received(stopped) if topic != "heartbeat"}
        assert len(seen) < newest - 1000
        replayed: list[int] = []
        while len(replayed) < newest:
            page = wire.result("events", since=replayed[-1] if replayed else 0)
            replayed += [event["seq"] for event in page["events"]]
        assert replayed == list(range(1, newest + 1))


def _received(events: Subscription) -> Iterator[tuple[str, dict]]:
    while events.socket.poll(0):
        yield events.next()
