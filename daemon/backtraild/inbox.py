"""What is asked of a worker and waits for it: put in by any thread, taken out by the worker's."""

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Generic, NamedTuple, TypeVar

from backtrail.errors import BacktrailError, DaemonStopping
from backtraild.model import Job

_Tool = TypeVar("_Tool")
_Answer = TypeVar("_Answer")


class Request(NamedTuple):
    """Something to be done, and where the answer is waited for."""

    action: Callable[[Any], Any]
    answer: "Future[Any]"
    job: Job

    def refuse(self, error: BacktrailError) -> None:
        """Answer that it will not be done, unless nobody waits any more."""
        if self.answer.set_running_or_notify_cancel():
            self.answer.set_exception(error)


class Inbox(Generic[_Tool]):
    """Requests in their order. Once it is closed, nothing goes unanswered either."""

    def __init__(self) -> None:
        self._requests: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._is_closed = False
        self._closing = threading.Lock()

    def put(self, action: Callable[[_Tool], _Answer], job: Job) -> "Future[_Answer]":
        """Ask for something to be done."""
        answer: Future[_Answer] = Future()
        with self._closing:
            if self._is_closed:
                answer.set_exception(let_go())
            else:
                self._requests.put(Request(action, answer, job))
        return answer

    @property
    def is_empty(self) -> bool:
        """Does nobody wait?"""
        return self._requests.empty()

    def waiting(self) -> Iterator[Request]:
        """Takes out what has come in, until there is no more."""
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._requests.get_nowait()

    def refuse_all(self, error: BacktrailError) -> None:
        """None of what waits will be done."""
        for request in self.waiting():
            request.refuse(error)

    def close(self) -> None:
        """Nothing will be done any more."""
        with self._closing:
            self._is_closed = True
        self.refuse_all(let_go())


def let_go() -> DaemonStopping:
    """Nothing was begun: whoever asks again finds the next worker, the next daemon, or that there is none."""
    return DaemonStopping("The daemon is letting go of this folder.", "Ask again in a moment.")
