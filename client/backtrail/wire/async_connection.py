"""One connection to the daemon for all tasks of an event loop: answers find their request by its id."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from types import TracebackType

import zmq
import zmq.asyncio

from backtrail.protocol import ConnectionFile, Response
from backtrail.wire import links
from backtrail.wire.deadline import Deadline
from backtrail.wire.exchange import Lost, OnProgress, Silent, response_of
from backtrail.wire.links import Fate
from backtrail.wire.progress import progress_of


class AsyncLink:
    """A socket and its monitor, both awaited."""

    def __init__(self, kind: zmq.SocketType, endpoint: str, where: ConnectionFile) -> None:
        context = zmq.asyncio.Context(links.context())
        self.socket = context.socket(kind)
        if kind == zmq.SUB:
            self.socket.subscribe(b"")
        self.monitor = context.socket(zmq.PAIR)
        links.connect(self.socket, self.monitor, endpoint, where)
        self._poller = zmq.asyncio.Poller()
        self._poller.register(self.socket, zmq.POLLIN)
        self._poller.register(self.monitor, zmq.POLLIN)

    async def wait_until_up(self, seconds: float | None) -> bool:
        """Whether the daemon has accepted the connection."""
        await self.monitor.poll(None if seconds is None else seconds * 1000)
        return await self.fate() is Fate.UP

    async def messages(self, silence: float | None = None) -> AsyncIterator[list[bytes]]:
        """What comes in until the connection is lost, or silent for so many seconds; then `Lost` is raised."""
        is_up = False
        while True:
            if not await self._poller.poll(None if silence is None else int(silence * 1000)):
                raise Lost(sent=is_up)
            # The monitor first: what came in before the end is still handed on.
            fate = await self.fate()
            while (message := await self._received(self.socket)) is not None:
                yield message
            is_up = is_up or fate is Fate.UP
            if fate not in (None, Fate.UP):
                raise Lost(sent=is_up, denied=fate is Fate.DENIED)

    async def fate(self) -> Fate | None:
        """What the monitor has to tell now, if anything."""
        message = await self._received(self.monitor)
        return None if message is None else links.fate(message)

    def close(self) -> None:
        """Let go of both sockets."""
        self.socket.disable_monitor()
        self.socket.close()
        self.monitor.close()

    @staticmethod
    async def _received(socket: zmq.asyncio.Socket) -> list[bytes] | None:
        try:
            return await socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return None


class AsyncConnection:
    """Shared by all tasks of one event loop, until it is lost."""

    def __init__(self, where: ConnectionFile) -> None:
        self.where = where
        self._link = AsyncLink(zmq.DEALER, where.requests, where)
        self._waiting: dict[str, asyncio.Future[Response]] = {}
        self.is_lost = False
        self._listening = asyncio.create_task(self._listen())

    async def ask(self, request: str, payload: bytes, deadline: Deadline) -> Response:
        """Send a request and wait for its answer."""
        if self.is_lost:
            raise Lost(sent=False)
        answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting[request] = answer
        try:
            async with asyncio.timeout(deadline.left()):
                await self._link.socket.send(payload, zmq.NOBLOCK)
                return await answer
        except TimeoutError:
            raise Silent from None
        except zmq.Again:
            raise Lost(sent=False) from None
        finally:
            del self._waiting[request]

    async def close(self) -> None:
        """Let go of the socket; whoever waits learns that the connection is lost."""
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listening

    async def _listen(self) -> None:
        loss = Lost(sent=True)
        try:
            async for message in self._link.messages():
                self._hand_out(response_of(message))
        except Lost as lost:
            loss = lost
        finally:
            self.is_lost = True
            self._link.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(Lost(sent=loss.sent, denied=loss.denied))

    def _hand_out(self, response: Response | None) -> None:
        answer = self._waiting.get(str(response.id)) if response is not None else None
        if answer is not None and response is not None and not answer.done():
            answer.set_result(response)


class AsyncProgress:
    """What the daemon tells about one request while it works on it; listens inside `async with`."""

    def __init__(self, where: ConnectionFile, request: str, tell: OnProgress, deadline: Deadline) -> None:
        self._link = AsyncLink(zmq.SUB, where.events, where)
        self._request = request
        self._tell = tell
        self._deadline = deadline

    async def __aenter__(self) -> None:
        try:
            await self._link.wait_until_up(self._deadline.left())
        except BaseException:
            self._link.close()
            raise
        self._listening = asyncio.create_task(self._listen())

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._listening

    async def _listen(self) -> None:
        try:
            async for message in self._link.messages():
                event = progress_of(message, self._request)
                if event is not None:
                    self._tell(event)
        except Lost:
            pass  # the request itself will learn it
        finally:
            self._link.close()
