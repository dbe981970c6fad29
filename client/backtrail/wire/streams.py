"""The events, as an iterator that blocks: subscribes, asks the log where in doubt, waits out restarts."""

import contextlib
import socket
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import zmq

from backtrail import protocol
from backtrail.errors import DaemonBusy, DaemonUnreachable
from backtrail.values import CheckpointEvent, EventPage
from backtrail.wire.following import Trail, beginning, news_of
from backtrail.wire.links import Fate, Link
from backtrail.wire.locating import Locator

if TYPE_CHECKING:
    from backtrail.client import Client

# How often a daemon that is gone is looked for.
LOOK_SECONDS = 0.1
# How long a daemon that is there may take to let a follower in. It gives up after the same time; one that has much
# to do needs more than a moment, and who does not wait for it would never be let in.
UP_SECONDS = 3.0
# A daemon that lives says so all the time. After this long without a word the follower begins anew.
SILENCE_SECONDS = 4 * protocol.HEARTBEAT_SECONDS
# How long the log may take to answer before the follower begins anew.
LOG_SECONDS = 30.0


class EventStream(Iterator[CheckpointEvent]):
    """Iterated by one thread; `close` may be called by any, and ends the iteration."""

    def __init__(
        self,
        client: "Client",
        locator: Locator,
        workspace: str | None,
        *,
        since: int | None,
        follow: bool,
        progress: bool,
    ) -> None:
        self._ends: tuple[socket.socket, ...] = ()
        self._client = client
        self._locator = locator
        self._is_closed = False
        # From now on means from this call on, not from the first `next`. It also starts the daemon, if need be.
        begin_after = beginning(since, client.ping().seq, follow=follow)
        self._trail = Trail(begin_after, workspace=workspace, progress=progress)
        self._ends = self._waker, self._alarm = socket.socketpair()
        self._events = self._followed() if follow else self._replayed()

    def __iter__(self) -> "EventStream":
        return self

    def __next__(self) -> CheckpointEvent:
        return next(self._events)

    def __enter__(self) -> "EventStream":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        for end in self._ends:
            end.close()

    @property
    def seq(self) -> int:
        """The number of the last event that was seen: where to go on later."""
        return self._trail.seq

    def close(self) -> None:
        """End the iteration, also where another thread waits in it."""
        self._is_closed = True
        self._waker.send(b"!")
        with contextlib.suppress(ValueError):  # another thread is in it, and is woken up by now
            self._events.close()

    def _followed(self) -> Generator[CheckpointEvent]:
        while not self._is_closed:
            link = self._subscribed()
            if link is None:
                continue
            try:
                yield from self._heard(link)
            finally:
                link.close()

    def _heard(self, link: Link) -> Generator[CheckpointEvent]:
        """Everything until the connection is lost."""
        self._trail.in_doubt = True
        poller = zmq.Poller()
        for heard in (link.socket, link.monitor, self._alarm):
            poller.register(heard, zmq.POLLIN)
        while not self._is_closed:
            if self._trail.in_doubt and not (yield from self._caught_up()):
                return
            is_silent = not poller.poll(int(SILENCE_SECONDS * 1000))
            fate = link.fate()
            yield from self._received(link)
            if is_silent or fate not in (None, Fate.UP):
                return

    def _received(self, link: Link) -> Generator[CheckpointEvent]:
        while not self._trail.in_doubt and not self._is_closed:
            try:
                news = news_of(link.socket.recv_multipart(zmq.NOBLOCK))
            except zmq.Again:
                return
            if news is not None:
                yield from self._trail.hear(news)

    def _caught_up(self) -> Generator[CheckpointEvent, None, bool]:
        """What the log has; False if the daemon does not tell, which ends in trying again."""
        try:
            yield from self._replayed()
        except (DaemonUnreachable, DaemonBusy):
            self._pause()
            return False
        return True

    def _replayed(self) -> Generator[CheckpointEvent]:
        self._trail.in_doubt = True
        while self._trail.in_doubt and not self._is_closed:
            yield from self._trail.read(self._page())

    def _page(self) -> EventPage:
        # A follower never starts a daemon: whoever stopped it may have meant it.
        params = protocol.Events(since=self._trail.seq)
        return self._client.call(protocol.EVENTS, params, timeout=LOG_SECONDS, autostart=False)

    def _subscribed(self) -> Link | None:
        """A subscription that the daemon knows of; None after a pause if there is no daemon."""
        where = self._locator.look()
        if where is not None:
            link = Link(zmq.SUB, where.events, where)
            zmq.select([link.monitor, self._alarm], [], [], UP_SECONDS)
            if link.fate() is Fate.UP:
                return link
            link.close()
        self._pause()
        return None

    def _pause(self) -> None:
        zmq.select([self._alarm], [], [], LOOK_SECONDS)
