"""`AsyncClient`: the same as `Client` with await, for all tasks of an event loop."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from types import EllipsisType, TracebackType
from typing import TypeVar

from backtrail import asking, protocol
from backtrail.asking import PathLike
from backtrail.async_workspace import AsyncWorkspace
from backtrail.client import Timeout
from backtrail.errors import DaemonUnreachable, UsageError
from backtrail.protocol import Method
from backtrail.values import CheckpointConfig, CheckpointEvent, Pong, Value, WorkspaceInfo
from backtrail.wire.async_connection import AsyncConnection, AsyncProgress
from backtrail.wire.async_streams import AsyncFollower
from backtrail.wire.deadline import Deadline
from backtrail.wire.exchange import Exchange, Lost, OnProgress, Silent, check_begun
from backtrail.wire.following import beginning
from backtrail.wire.locating import RETURN_SECONDS, Location, Locator

_Params = TypeVar("_Params", bound=Value)
_Result = TypeVar("_Result", bound=Value)


class AsyncClient:
    """Asks the daemon, starts it if need be, and asks again when it was lost before it answered."""

    def __init__(
        self,
        *,
        autostart: bool = True,
        timeout: float | None = 60.0,
        home: Location | None = None,
        connection: Location | None = None,
    ) -> None:
        self._timeout = timeout
        self._locator = Locator(autostart=autostart, home=home, connection=connection)
        self._connection: AsyncConnection | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connection. The daemon goes on."""
        self._is_closed = True
        if self._connection is not None and not self._connection.is_lost:
            await self._connection.close()

    async def ping(self) -> Pong:
        """Which daemon answers."""
        return await self.call(protocol.PING, protocol.Ping())

    async def watch(
        self,
        path: PathLike,
        config: CheckpointConfig | None = None,
        *,
        exclude_patterns: Sequence[str] = (),
        force: bool = False,
        wait: bool = True,
        store: PathLike | None = None,
        timeout: Timeout = None,
        on_progress: OnProgress | None = None,
    ) -> AsyncWorkspace:
        """Watch a folder from now on, and wait for its baseline, however long that takes."""
        params = asking.watch(path, config, exclude_patterns, force=force, wait=wait, store=store)
        watched = await self.call(protocol.WATCH, params, timeout=timeout, on_progress=on_progress)
        return AsyncWorkspace(self, watched.workspace, watched.root)

    async def workspace(self, path_or_id: PathLike = ".") -> AsyncWorkspace:
        """The watched folder that has this id, or that contains this path."""
        params = protocol.OfWorkspace(workspace=asking.workspace(path_or_id))
        status = await self.call(protocol.STATUS, params)
        return AsyncWorkspace(self, status.workspace, status.root)

    async def workspaces(self) -> list[WorkspaceInfo]:
        """What is watched."""
        return (await self.call(protocol.WORKSPACES, protocol.Workspaces())).workspaces

    async def events(
        self,
        workspace: AsyncWorkspace | PathLike | None = None,
        *,
        since: int | None = None,
        follow: bool = True,
        progress: bool = False,
    ) -> AsyncGenerator[CheckpointEvent]:
        """What happens, in order and without holes: after the event `since`, or from the first step on.

        It goes on over restarts of the daemon, without starting it. With `follow` off it tells what has happened, up
        to the newest event. With `progress`, the progress of long work is told too.
        """
        if workspace is not None and not isinstance(workspace, AsyncWorkspace):
            workspace = await self.workspace(workspace)
        newest = (await self.ping()).seq
        follower = AsyncFollower(
            self,
            self._locator,
            beginning(since, newest, follow=follow),
            workspace=None if workspace is None else workspace.id,
            progress=progress,
        )
        async with contextlib.aclosing(follower.followed() if follow else follower.replayed()) as events:
            async for event in events:
                yield event

    async def stop(self) -> None:
        """End the daemon; it saves what is pending first. None is started for that."""
        was_there = self._locator.look() is not None
        try:
            await self.call(protocol.STOP, protocol.Stop(), autostart=False)
        except DaemonUnreachable:
            # It may be gone before its answer got through, which is an answer too.
            if not was_there or self._locator.look() is not None:
                raise

    async def call(
        self,
        method: Method[_Params, _Result],
        params: _Params,
        *,
        timeout: Timeout = ...,
        on_progress: OnProgress | None = None,
        autostart: bool = True,
    ) -> _Result:
        """Ask the daemon for one thing. Everything else here is said in terms of this."""
        if self._is_closed:
            raise UsageError("This client is closed.", "Make a new one: AsyncClient().")
        seconds = self._timeout if isinstance(timeout, EllipsisType) else timeout
        exchange, deadline = Exchange(method, params), Deadline(seconds)
        try:
            while True:
                try:
                    return await self._once(exchange, deadline, on_progress, autostart)
                except Lost as loss:
                    exchange.lost(loss)
                await asyncio.sleep(deadline.at_most(exchange.pause()).left() or 0.0)
                await self._await_daemon(exchange, deadline, autostart)
        except Silent:
            raise exchange.silent(seconds) from None

    async def _once(
        self,
        exchange: Exchange[_Params, _Result],
        deadline: Deadline,
        on_progress: OnProgress | None,
        autostart: bool,
    ) -> _Result:
        connection = await self._connected(deadline, autostart)
        async with contextlib.AsyncExitStack() as stack:
            if on_progress is not None:
                progress = AsyncProgress(connection.where, exchange.id, on_progress, deadline)
                await stack.enter_async_context(progress)
            response = await connection.ask(exchange.id, exchange.payload, deadline)
        try:
            check_begun(response)
        except Lost:
            await connection.close()  # the next attempt must not ask the daemon that is ending
            raise
        return exchange.result(response)

    async def _connected(self, deadline: Deadline, autostart: bool) -> AsyncConnection:
        if self._loop is not asyncio.get_running_loop():
            # With an earlier loop, what belonged to it has ended.
            self._loop, self._opening, self._connection = asyncio.get_running_loop(), asyncio.Lock(), None
        async with self._opening:
            if self._connection is None or self._connection.is_lost:
                where = await asyncio.to_thread(self._locator.find, deadline, autostart=autostart)
                self._connection = AsyncConnection(where)
            return self._connection

    async def _await_daemon(
        self, exchange: Exchange[_Params, _Result], deadline: Deadline, autostart: bool
    ) -> None:
        patience = RETURN_SECONDS if exchange.was_seen() else 0.0
        try:
            await asyncio.to_thread(
                self._locator.bring_back, deadline, autostart=autostart, patience=patience
            )
        except DaemonUnreachable as error:
            raise exchange.given_up(error) from error.__cause__
