"""Followers and a daemon that is slow to let them in, goes silent, or has no room: real sockets, one process."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtrail.wire import async_streams, streams
from backtraild.server import ledger
from backtraild.server.doorkeeper import Doorkeeper, Visitor
from support.answering import Answering, answering
from support.followers import ThreadFollower
from support.lossy import Lossy


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Answering]:
    with answering(tmp_path, auto_checkpoint=False) as found:
        yield found


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_daemon_that_is_slow_to_let_a_follower_in_is_waited_for(
    server: Answering, monkeypatch: pytest.MonkeyPatch, is_async: bool
):
    """On a busy machine; a follower that gives up after a moment begins anew for ever, and hears nothing."""
    judge, late = Doorkeeper.judge, list[threading.Timer]()

    def slowly(self: Doorkeeper, visitor: Visitor, tell: Callable[[bool], None]) -> None:
        late.append(threading.Timer(0.3, judge, (self, visitor, tell)))
        late[-1].start()

    server.watch(a="content")
    monkeypatch.setattr(Doorkeeper, "judge", slowly)
    with ThreadFollower(connection=server.places.connection_file, is_async=is_async) as follower:
        try:
            follower.wait_for(server.service.log.newest)
        finally:
            monkeypatch.undo()
    for timer in late:
        timer.join()


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_follower_that_hears_nothing_at_all_begins_anew(
    server: Answering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_async: bool
):
    """Not even a heartbeat: whatever became of its subscription, the log still has everything."""
    for module in (streams, async_streams):
        monkeypatch.setattr(module, "SILENCE_SECONDS", 0.2)
    workspace = server.watch(a="content")
    with Lossy(server.places.connection_file, tmp_path, 0) as relay:
        relay.is_deaf = True
        with ThreadFollower(connection=relay.file, is_async=is_async) as follower:
            follower.wait_for(server.service.log.newest)
            server.service.save(workspace, allow_empty=True)
            follower.wait_for(server.service.log.newest)


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_daemon_without_room_for_a_question_is_asked_again(
    server: Answering, monkeypatch: pytest.MonkeyPatch, is_async: bool
):
    """Somebody else fills it with requests for a while; that is no reason to end a stream."""
    workspace = server.watch(a="content")
    with ThreadFollower(connection=server.places.connection_file, is_async=is_async) as follower:
        follower.wait_for(server.service.log.newest)
        monkeypatch.setattr(ledger, "MAX_OF_ALL", 0)
        server.service.log._epoch = "another run"  # which sends it to the log
        server.service.save(workspace, allow_empty=True)
        with server.wire() as wire:
            assert wire.error("ping")["data"]["code"] == "busy"
        monkeypatch.undo()
        follower.wait_for(server.service.log.newest)
