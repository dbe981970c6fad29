"""The requests as methods that take a workspace's id first and wait for the answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Concatenate, ParamSpec, TypeVar

from backtraild import requests
from backtraild.model import Job
from backtraild.requests import Action

_Answer = TypeVar("_Answer")
_Asked = ParamSpec("_Asked")


def _waiting(
    request: Callable[_Asked, Action[_Answer]],
) -> Callable[Concatenate["Asking", str, _Asked], _Answer]:
    """The method that asks for this and waits."""

    def method(self: "Asking", workspace: str, /, *args: _Asked.args, **kwargs: _Asked.kwargs) -> _Answer:
        return self.ask(workspace, request(*args, **kwargs))

    method.__doc__ = request.__doc__
    return method


class Asking(ABC):
    """Whoever can have an action carried out in a workspace has all of these methods."""

    @abstractmethod
    def submit(self, workspace: str, action: Action[_Answer], *, job: Job = None) -> "Future[_Answer]":
        """Let a workspace's worker do something; the answer comes when it comes. Progress carries the job."""

    def ask(self, workspace: str, action: Action[_Answer]) -> _Answer:
        """Let a workspace's worker do something, and wait for the answer."""
        return self.submit(workspace, action).result()

    save = _waiting(requests.save)
    list = _waiting(requests.list)
    get = _waiting(requests.get)
    read = _waiting(requests.read)
    diff = _waiting(requests.diff)
    restore = _waiting(requests.restore)
    undo = _waiting(requests.undo)
    delete = _waiting(requests.delete)
    pin = _waiting(requests.pin)
    unpin = _waiting(requests.unpin)
    prune = _waiting(requests.prune)
