"""The library's front door: `Client`, which any number of threads may share."""

import os
import time
from collections.abc import Sequence
from types import EllipsisType, TracebackType
from typing import TYPE_CHECKING, TypeVar
from weakref import WeakSet

from backtrail import asking, protocol
from backtrail.asking import PathLike
from backtrail.errors import DaemonUnreachable, UsageError
from backtrail.protocol import Method
from backtrail.values import CheckpointConfig, Pong, Value, WorkspaceInfo
from backtrail.wire.connection import connect
from backtrail.wire.deadline import Deadline
from backtrail.wire.exchange import Exchange, Lost, OnProgress, Silent, check_begun
from backtrail.wire.locating import RETURN_SECONDS, Location, Locator
from backtrail.wire.pool import Pool
from backtrail.workspace import Workspace

if TYPE_CHECKING:
    from backtrail.wire.streams import EventStream

__all__ = ["Client", "OnProgress", "Timeout"]

# `...` leaves it to the client's own; None waits for ever.
Timeout = float | None | EllipsisType

_Params = TypeVar("_Params", bound=Value)
_Result = TypeVar("_Result", bound=Value)


class Client:
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
        self._pools = [Pool()]
        self._streams: WeakSet[EventStream] = WeakSet()
        self._is_closed = False

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of all connections, and end the iterations over events. The daemon goes on."""
        self._is_closed = True
        for stream in list(self._streams):
            stream.close()
        self._pool.close()

    def ping(self) -> Pong:
        """Which daemon answers."""
        return self.call(protocol.PING, protocol.Ping())

    def watch(
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
    ) -> Workspace:
        """Watch a folder from now on, and wait for its baseline, however long that takes."""
        params = asking.watch(path, config, exclude_patterns, force=force, wait=wait, store=store)
        watched = self.call(protocol.WATCH, params, timeout=timeout, on_progress=on_progress)
        return Workspace(self, watched.workspace, watched.root)

    def workspace(self, path_or_id: PathLike = ".") -> Workspace:
        """The watched folder that has this id, or that contains this path."""
        params = protocol.OfWorkspace(workspace=asking.workspace(path_or_id))
        status = self.call(protocol.STATUS, params)
        return Workspace(self, status.workspace, status.root)

    def workspaces(self) -> list[WorkspaceInfo]:
        """What is watched."""
        return self.call(protocol.WORKSPACES, protocol.Workspaces()).workspaces

    def events(
        self,
        workspace: Workspace | PathLike | None = None,
        *,
        since: int | None = None,
        follow: bool = True,
        progress: bool = False,
    ) -> "EventStream":
        """What happens, in order and without holes: after the event `since`, or from now on.

        It goes on over restarts of the daemon, without starting it. With `follow` off it tells what has happened, up
        to the newest event. With `progress`, the progress of long work is told too.
        """
        from backtrail.wire.streams import EventStream  # here, because few programs follow

        if workspace is not None and not isinstance(workspace, Workspace):
            workspace = self.workspace(workspace)
        only = None if workspace is None else workspace.id
        stream = EventStream(self, self._locator, only, since=since, follow=follow, progress=progress)
        self._streams.add(stream)
        return stream

    def stop(self) -> None:
        """End the daemon; it saves what is pending first. None is started for that."""
        was_there = self._locator.look() is not None
        try:
            self.call(protocol.STOP, protocol.Stop(), autostart=False)
        except DaemonUnreachable:
            # It may be gone before its answer got through, which is an answer too.
            if not was_there or self._locator.look() is not None:
                raise

    def call(
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
            raise UsageError("This client is closed.", "Make a new one: Client().")
        seconds = self._timeout if isinstance(timeout, EllipsisType) else timeout
        exchange, deadline = Exchange(method, params), Deadline(seconds)
        try:
            while True:
                try:
                    return self._once(exchange, deadline, on_progress, autostart)
                except Lost as loss:
                    exchange.lost(loss)
                time.sleep(deadline.at_most(exchange.pause()).left() or 0.0)
                self._await_daemon(exchange, deadline, autostart)
        except Silent:
            raise exchange.silent(seconds) from None

    def _once(
        self,
        exchange: Exchange[_Params, _Result],
        deadline: Deadline,
        on_progress: OnProgress | None,
        autostart: bool,
    ) -> _Result:
        pool = self._pool
        connection = pool.borrow() or connect(self._locator.find(deadline, autostart=autostart))
        try:
            response = connection.ask(exchange.id, exchange.payload, deadline, on_progress)
            check_begun(response)
        except BaseException:
            connection.close()
            raise
        pool.give_back(connection)
        return exchange.result(response)

    def _await_daemon(
        self, exchange: Exchange[_Params, _Result], deadline: Deadline, autostart: bool
    ) -> None:
        patience = RETURN_SECONDS if exchange.was_seen() else 0.0
        try:
            self._locator.bring_back(deadline, autostart=autostart, patience=patience)
        except DaemonUnreachable as error:
            raise exchange.given_up(error) from error.__cause__

    @property
    def _pool(self) -> Pool:
        """The one of this process. A forked child opens connections of its own and leaves its parent's alone."""
        if self._pools[-1].pid != os.getpid():
            self._pools.append(Pool())
        return self._pools[-1]
