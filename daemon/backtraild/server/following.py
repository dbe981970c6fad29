"""What is done for a session in one workspace is done in those that it follows, too; no thread waits for another.

The leading workspace's worker answers first. Its callback asks the workers of the others, and the last of them to
answer completes the whole. Whatever becomes of these, the leading one's answer stands, and tells of it.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, TypeGuard

from msgspec.structs import replace

from backtrail import protocol
from backtrail import session_protocol as wire
from backtrail.errors import BacktrailError, UsageError
from backtrail.protocol import OfWorkspace
from backtrail.values import Value
from backtraild.keeper import Keeper
from backtraild.model import Job
from backtraild.registry import Registered
from backtraild.requests import Action
from backtraild.server import calls, convert, joining
from backtraild.server.joining import Leading, Part
from backtraild.server.works import Work
from backtraild.service import Service

_log = logging.getLogger(__name__)


def names_others(params: OfWorkspace) -> bool:
    """Has somebody to find out which workspaces are to be followed?"""
    return isinstance(params, wire.SessionStart) and bool(params.follows)


def resolved(service: Service, params: OfWorkspace) -> tuple[OfWorkspace, Registered]:
    """With the workspace that is meant, and the ids of those to follow. Looks at the disk where paths name them."""
    entry = calls.entry_of(service, params.workspace)
    if not isinstance(params, wire.SessionStart) or params.follows is None:
        return params, entry
    follows = [calls.entry_of(service, each).id for each in params.follows]
    if entry.id in follows:
        raise UsageError(
            f"A session in {convert.local(entry.root)} can't follow that same folder.", "Name another one."
        )
    return replace(params, follows=follows), entry


def leads(params: OfWorkspace) -> TypeGuard[Leading]:
    """Is this done in followed workspaces, too?"""
    if isinstance(params, protocol.Save):
        return params.session is not None
    return isinstance(params, wire.SessionStart | wire.SessionEnd | wire.TurnStart | wire.Rewind)


class Following:
    """One request that may have to be carried out in several workspaces."""

    def __init__(self, service: Service, work: Work, params: Leading) -> None:
        self._service = service
        self._work = work
        self._params = params
        self._whole: Future[Value] = Future()
        self._lock = threading.Lock()

    def begin(self, entry: Registered, job: Job) -> "Future[Value]":
        """Let the leading workspace's worker begin; the answer of all comes when it comes."""
        action = self._work(joining.of_leading(self._params), entry)
        answer = self._service.submit(entry.id, _led(action, self._params.session or ""), job=job)
        answer.add_done_callback(self._completing(self._follow))
        return self._whole

    def _follow(self, leading: "Future[tuple[Value, tuple[str, ...]]]") -> None:
        answer, follows = leading.result()
        wanted = {
            workspace: joining.of_followed(self._params, answer, place)
            for place, workspace in enumerate(follows, 1)
        }
        parts: dict[str, Part | None] = {name: None for name, params in wanted.items() if params is not None}
        if not parts:
            self._whole.set_result(answer)
        for workspace, params in wanted.items():
            if params is not None:
                told = self._completing(partial(self._collect, answer, parts, workspace))
                self._asked(workspace, params).add_done_callback(told)

    def _asked(self, workspace: str, params: Leading) -> "Future[Value]":
        """A workspace that is watched no more answers as well."""
        try:
            return self._service.submit(workspace, self._work(params, self._service.entry(workspace)))
        except BacktrailError as error:
            failed: Future[Value] = Future()
            failed.set_exception(error)
            return failed

    def _collect(
        self, leading: Value, parts: dict[str, Part | None], workspace: str, answer: "Future[Value]"
    ) -> None:
        part = self._part(workspace, answer)
        with self._lock:
            parts[workspace] = part
            told = [each for each in parts.values() if each is not None]
        if len(told) == len(parts):
            self._whole.set_result(joining.joined(leading, told))

    def _part(self, workspace: str, answer: "Future[Value]") -> Part:
        root, error = self._root(workspace), answer.exception()
        if error is None:
            return Part(workspace, root, answer.result())
        if isinstance(error, BacktrailError):
            return Part(workspace, root, error=error.message)
        _log.error("%s: what the session asked for failed here", workspace, exc_info=error)
        return Part(workspace, root, error=f"The daemon failed because of a bug ({type(error).__name__}).")

    def _root(self, workspace: str) -> str | None:
        with contextlib.suppress(BacktrailError):
            return convert.local(self._service.entry(workspace).root)
        return None

    def _completing(self, step: Callable[["Future[Any]"], None]) -> Callable[["Future[Any]"], None]:
        """A callback whose failure is the answer: otherwise nobody would ever get one."""

        def callback(done: "Future[Any]") -> None:
            try:
                step(done)
            except BaseException as error:
                self._whole.set_exception(error)

        return callback


def _led(action: Action[Value], session: str) -> Action[tuple[Value, tuple[str, ...]]]:
    """An action that also says which workspaces its session follows."""

    def work(keeper: Keeper) -> tuple[Value, tuple[str, ...]]:
        answer = action(keeper)
        with contextlib.suppress(BacktrailError):  # what was done stands, whatever is wrong with the session
            found = keeper.workspace.sessions.find(session)
            return answer, () if found is None else found.follows
        return answer, ()

    return work
