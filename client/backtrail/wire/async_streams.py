"""The events, as an async generator: subscribes, asks the log where in doubt, waits out restarts."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import zmq

from backtrail import protocol
from backtrail.errors import DaemonBusy, DaemonUnreachable
from backtrail.values import CheckpointEvent
from backtrail.wire.async_connection import AsyncLink
from backtrail.wire.exchange import Lost
from backtrail.wire.following import Trail, news_of
from backtrail.wire.locating import Locator
from backtrail.wire.streams import LOG_SECONDS, LOOK_SECONDS, SILENCE_SECONDS, UP_SECONDS

if TYPE_CHECKING:
    from backtrail.async_client import AsyncClient


class AsyncFollower:
    """One follower of the events; what it makes of them is `Trail`'s to decide."""

    def __init__(
        self, client: "AsyncClient", locator: Locator, since: int, *, workspace: str | None, progress: bool
    ) -> None:
        self._client = client
        self._locator = locator
        self._trail = Trail(since, workspace=workspace, progress=progress)

    async def followed(self) -> AsyncGenerator[CheckpointEvent]:
        """Everything, until nobody wants any more."""
        while True:
            link = await self._subscribed()
            if link is None:
                await asyncio.sleep(LOOK_SECONDS)
                continue
            try:
                async for event in self._heard(link):
                    yield event
            except Lost:
                pass  # it comes back, or it does not
            except (DaemonUnreachable, DaemonBusy):
                await asyncio.sleep(LOOK_SECONDS)
            finally:
                link.close()

    async def replayed(self) -> AsyncGenerator[CheckpointEvent]:
        """What the log has."""
        self._trail.in_doubt = True
        while self._trail.in_doubt:
            # A follower never starts a daemon: whoever stopped it may have meant it.
            page = await self._client.call(
                protocol.EVENTS,
                protocol.Events(since=self._trail.seq),
                timeout=LOG_SECONDS,
                autostart=False,
            )
            for event in self._trail.read(page):
                yield event

    async def _heard(self, link: AsyncLink) -> AsyncGenerator[CheckpointEvent]:
        """Everything until the connection is lost."""
        async for event in self.replayed():
            yield event
        async for message in link.messages(SILENCE_SECONDS):
            news = news_of(message)
            for event in self._trail.hear(news) if news is not None else ():
                yield event
            if self._trail.in_doubt:
                async for event in self.replayed():
                    yield event

    async def _subscribed(self) -> AsyncLink | None:
        """A subscription that the daemon knows of, if there is a daemon."""
        where = self._locator.look()
        if where is None:
            return None
        link = AsyncLink(zmq.SUB, where.events, where)
        try:
            if await link.wait_until_up(UP_SECONDS):
                return link
        except BaseException:
            link.close()
            raise
        link.close()
        return None
