"""Who does what a request asks for: the loop itself, a workspace's worker, or a thread that may wait for the disk."""

import functools
import logging
import os
import threading
from collections import ChainMap
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from backtrail import __version__, protocol, values
from backtrail.errors import BacktrailError
from backtrail.methods import methods
from backtrail.protocol import OfWorkspace, Request
from backtraild.registry import Registered
from backtraild.server import calls, envelope, following, session_calls, session_works, works
from backtraild.server.calls import Call, Case
from backtraild.server.ending import ending
from backtraild.server.envelope import Refusal
from backtraild.server.following import Following
from backtraild.service import Service

QUICK_THREADS = 4
LOOKING_THREADS = 4
SLOW_THREADS = 16

Reply = Callable[[bytes], None]

_METHODS = {method.name: method for method in methods()}
_WORKS = ChainMap(works.BY_NAME, session_works.BY_NAME)
_SLOW = ChainMap(calls.SLOW, session_calls.SLOW)

_log = logging.getLogger(__name__)


class Reception:
    """Takes requests from the loop. Nothing it does there waits; answers are given from any thread."""

    def __init__(self, service: Service, stop: Callable[[], None]) -> None:
        self._service = service
        self._stop = stop
        self._started = datetime.now(UTC)
        self._ending = threading.Event()
        self._quick = ThreadPoolExecutor(QUICK_THREADS, "quick")
        # Apart from those: a store on a disk that does not answer must not keep others from finding their folder.
        self._looking = ThreadPoolExecutor(LOOKING_THREADS, "looking")
        self._slow = ThreadPoolExecutor(SLOW_THREADS, "slow")

    def take(self, payload: bytes, reply: Reply) -> None:
        """See to it that a message is answered, once."""
        try:
            request = envelope.read(payload)
        except Refusal as refusal:
            reply(refusal.encode())
            return
        try:
            self._begin(request, reply)
        except BaseException as error:
            self._fail(request, reply, error)

    def spare(self, payload: bytes) -> bytes | None:
        """What may be said in place of the answer to a message; None if the answer tells of something done."""
        request = envelope.read(payload)
        method = _METHODS[request.method]
        is_marked = "request" in method.params.__struct_fields__
        return envelope.unread(request) if method.repeatable and not is_marked else None

    def refuse(self) -> None:
        """From now on, answer everything by saying that the daemon is stopping."""
        self._ending.set()

    def close(self) -> None:
        """Wait for what is under way; what has not begun is refused."""
        for pool in (self._quick, self._looking, self._slow):
            pool.shutdown(cancel_futures=True)

    def _begin(self, request: Request, reply: Reply) -> None:
        method = _METHODS.get(request.method)
        if method is None:
            raise envelope.unknown_method(request)
        params: Any = envelope.decode_params(request, method.params)
        if self._ending.is_set():
            raise ending()
        if method is protocol.PING:
            reply(envelope.success(request.id, self._pong()))
        elif method is protocol.STOP:
            # Before the answer: what is asked by those who have read it is for the next daemon.
            self.refuse()
            reply(envelope.success(request.id, values.Done()))
            _log.info("stopping because a client asks for it")
            self._stop()
        elif request.method in _WORKS:
            self._let_worker(request, params, reply)
        else:
            self._let_thread(request, params, reply)

    def _let_worker(self, request: Request, params: OfWorkspace, reply: Reply) -> None:
        """Straight to the worker if its workspace is known by name; else somebody has to look at the disk."""
        entry = None if following.names_others(params) else self._at_hand(params.workspace)
        if entry is not None:
            self._submit(request, params, reply, entry)
        else:
            found = self._quick.submit(following.resolved, self._service, params)
            found.add_done_callback(functools.partial(self._found, request, reply))

    def _at_hand(self, workspace: str) -> Registered | None:
        if not calls.is_path(workspace):
            return self._service.entry(workspace)
        return next((entry for entry in self._service.workspaces() if entry.root == workspace), None)

    def _found(self, request: Request, reply: Reply, found: "Future[tuple[OfWorkspace, Registered]]") -> None:
        try:
            params, entry = found.result()
            self._submit(request, params, reply, entry)
        except BaseException as error:
            self._fail(request, reply, error)

    def _submit(self, request: Request, params: OfWorkspace, reply: Reply, entry: Registered) -> None:
        work = _WORKS[request.method]
        if following.leads(params):
            whole = Following(self._service, work, params).begin(entry, request.id)
            whole.add_done_callback(functools.partial(self._joined, request, reply))
            return
        action = work(params, entry)
        answer = self._service.submit(
            entry.id, lambda keeper: envelope.success(request.id, action(keeper)), job=request.id
        )
        answer.add_done_callback(functools.partial(self._answered, request, reply))

    def _joined(self, request: Request, reply: Reply, answer: "Future[values.Value]") -> None:
        """In the thread of the last worker that had to answer."""
        try:
            reply(envelope.success(request.id, answer.result()))
        except BaseException as error:
            self._fail(request, reply, error)

    def _let_thread(self, request: Request, params: Any, reply: Reply) -> None:
        pool, call = self._pool_for(request.method)
        case = Case(self._service, request.id, self._ending.is_set)
        answer = pool.submit(lambda: envelope.success(request.id, call(case, params)))
        answer.add_done_callback(functools.partial(self._answered, request, reply))

    def _pool_for(self, method: str) -> tuple[ThreadPoolExecutor, Call]:
        if method in _SLOW:
            return self._slow, _SLOW[method]
        if method in calls.LOOKING:
            return self._looking, calls.LOOKING[method]
        return self._quick, calls.QUICK[method]

    def _answered(self, request: Request, reply: Reply, answer: "Future[bytes]") -> None:
        try:
            reply(answer.result())
        except BaseException as error:
            self._fail(request, reply, error)

    def _fail(self, request: Request, reply: Reply, error: BaseException) -> None:
        is_known = isinstance(error, BacktrailError | Refusal)
        if not is_known and self._ending.is_set():
            error = ending()  # what it needed was closed under it
        elif not is_known:
            _log.error("%s failed", request.method, exc_info=error)
        reply(envelope.failure(request.id, error))

    def _pong(self) -> values.Pong:
        return values.Pong(
            version=__version__,
            protocol=protocol.VERSION,
            pid=os.getpid(),
            epoch=self._service.log.epoch,
            seq=self._service.log.newest,
            started=self._started,
        )
