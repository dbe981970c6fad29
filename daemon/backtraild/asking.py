"""The requests as methods that take a workspace's id first and wait for the answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from concurrent.futures import Future
from typing import Concatenate, ParamSpec, TypeVar

from backtraild import requests, session_requests
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
    start_session = _waiting(session_requests.start_session)
    update_session = _waiting(session_requests.update_session)
    end_session = _waiting(session_requests.end_session)
    sessions = _waiting(session_requests.sessions)
    session = _waiting(session_requests.session)
    delete_session = _waiting(session_requests.delete_session)
    begin_turn = _waiting(session_requests.begin_turn)
    tool_used = _waiting(session_requests.tool_used)
    attach = _waiting(session_requests.attach)
    conversation = _waiting(session_requests.conversation)
    rewind = _waiting(session_requests.rewind)
    resume = _waiting(session_requests.resume)
    log_of = _waiting(session_requests.log)
    blame = _waiting(session_requests.blame)
    search = _waiting(session_requests.search)
