"""One thread per workspace, the only one that touches its store: waits, looks, saves, answers."""

import contextlib
import logging
import math
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from backtrail.errors import (
    BacktrailError,
    DaemonStopping,
    NothingToDo,
    RefusedWorkspace,
    WorkspaceUnavailable,
)
from backtrail.pathtext import to_text
from backtraild import gitlock, stores
from backtraild.health import Health
from backtraild.keeper import NOT_WATCHING, Facts, Keeper
from backtraild.meter import Meter
from backtraild.model import Intent, Job, Kind, Progress
from backtraild.redaction import Redactor
from backtraild.registry import Registered
from backtraild.settle import Pace, due_at, due_with_git
from backtraild.state import EventLog
from backtraild.timers import Timers
from backtraild.watch import Dirt, Hub, Interrupted

RETRY_SECONDS = 5.0
AWAY = "while the folder was not available"

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class _Request(NamedTuple):
    action: Callable[[Keeper], Any]
    answer: "Future[Any]"
    job: Job

    def refuse(self, error: BacktrailError) -> None:
        """Answer that it will not be done, unless nobody waits any more."""
        if self.answer.set_running_or_notify_cancel():
            self.answer.set_exception(error)


class Worker:
    """Keeps one workspace checkpointed until it is stopped."""

    def __init__(
        self,
        entry: Registered,
        folder: str,
        hub: Hub,
        events: EventLog,
        progress: Callable[[Progress], None],
        redactor: Redactor,
        job: Job = None,
    ) -> None:
        self._entry = entry
        self._folder = folder
        self._hub = hub
        self._events = events
        self._redactor = redactor
        self._root = to_text(os.fsencode(entry.root))
        self._meter = Meter(entry.id, self._root, progress)
        self._first_job = job  # who asked for the folder to be watched, and waits for the first look
        self._dirt = Dirt()
        self._requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._pace = Pace(entry.config.quiet, entry.config.patience)
        self._git_busy_since: float | None = None
        self._keeper: Keeper | None = None
        self._is_current = False  # everything has been looked at, and hints have come in ever since
        self._circumstance = NOT_WATCHING
        self._retry_at = 0.0
        self._timers = Timers(time.monotonic())
        self._stopping = False
        self._ended = False
        self._ending = threading.Lock()
        self.paused = entry.paused
        self.health = Health(self._tell)
        # How the first look ended; whoever asked for the workspace to be watched waits for it.
        self.first_look: Future[None] = Future()
        self._thread = threading.Thread(target=self._run, name=f"worker {entry.id}")
        self._thread.start()

    @property
    def facts(self) -> Facts | None:
        """What is known of the workspace; never waits for the thread."""
        keeper = self._keeper
        return None if keeper is None else keeper.facts

    @property
    def pending(self) -> int:
        """How many paths wait to be looked at."""
        keeper = self._keeper
        return self._dirt.count() + (0 if keeper is None else len(keeper.resting))

    def ask(self, action: Callable[[Keeper], _Answer], job: Job = None) -> "Future[_Answer]":
        """Let the worker do something with the workspace, between its own looks."""
        answer: Future[_Answer] = Future()
        with self._ending:
            if self._ended:
                answer.set_exception(_let_go())
            else:
                self._requests.put(_Request(action, answer, job))
        self._dirt.wake()
        return answer

    def suspect_everything(self, reason: str) -> None:
        """Something happened that may have hidden changes: look at everything."""
        self._dirt.mark_everything(reason)

    def accept_root(self) -> "Future[None]":
        """Whatever folder is there now is the workspace, if it was not taken for it."""

        def accept(keeper: Keeper) -> None:
            if not self._is_current:
                keeper.workspace.adopt_root()
                self._retry_at = 0.0

        return self.ask(accept)

    def pause(self, paused: bool) -> None:
        """Stop or go on making automatic checkpoints; hints are gathered all the while."""
        self.paused = paused
        if self.health.activity != "scanning":  # whoever asks next shall see it
            self.health.activity = "paused" if paused else "watching"
        self._dirt.wake()

    def stop(self) -> None:
        """Save what is pending and end the thread."""
        self._stopping = True
        self._dirt.wake()

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join()

    @property
    def _is_automatic(self) -> bool:
        return self._entry.config.auto_checkpoint and not self.paused

    @property
    def _is_idle(self) -> bool:
        """Does nobody wait for anything, and nothing for being saved?"""
        return self._requests.empty() and not (self._is_automatic and self._dirt.peek())

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._dirt.wait(self._step())
            self._finish()
        finally:
            with self._ending:
                self._ended = True
            for request in self._waiting():
                request.refuse(_let_go())
            if not self.first_look.done():
                self.first_look.set_exception(_let_go())

    def _step(self) -> float | None:
        """Do what is due; how long to wait then."""
        if not self._is_current and self._may_retry():
            self._catch_up()
        self._answer_requests()
        left = self._retry_at - time.monotonic()
        if not self._is_current or left > 0:
            return None if math.isinf(left) else max(0.0, left)
        try:
            wait = self._tend()
        except Exception as error:
            self._failed(error)
            return RETRY_SECONDS
        self._succeeded()
        return wait

    def _may_retry(self) -> bool:
        """Whoever asks for something does not wait for the time of the next attempt."""
        asked_for = not self._requests.empty() and not math.isinf(self._retry_at)
        return asked_for or time.monotonic() >= self._retry_at

    def _catch_up(self) -> None:
        """Open the workspace and look at everything in it."""
        self.health.activity = "scanning"
        try:
            if self._keeper is not None:
                self._keeper.workspace.check_root()
            keeper = self._reopened()
            with self._meter.on_behalf_of(None if self.first_look.done() else self._first_job):
                keeper.catch_up(
                    self._circumstance,
                    automatic=self._is_automatic,
                    force=self._entry.forced,
                    stop=lambda: self._stopping,
                )
        except Interrupted:
            return
        except Exception as error:
            self._failed(error)
            if not self.first_look.done():
                self.first_look.set_exception(error)
            return
        self._is_current = True
        self._succeeded()
        if not self.first_look.done():
            self.first_look.set_result(None)

    def _reopened(self) -> Keeper:
        """With new watches: those of a folder that went away and came back lead nowhere."""
        stores.require(self._entry, self._folder)
        old, self._keeper = self._keeper, None
        if old is not None:
            old.close()
        self._keeper = Keeper(
            self._entry,
            self._folder,
            self._hub,
            self._events,
            self.health,
            self._dirt,
            self._meter,
            self._redactor,
        )
        return self._keeper

    def _tend(self) -> float | None:
        keeper, now = self._keeper, time.monotonic()
        if keeper is None:
            return None
        keeper.tell_new()
        keeper.watch_new_folders()
        timer = self._timers.run(keeper, self._dirt, now, idle=self._is_idle)
        pending = self._dirt.peek()
        if pending is None:
            return timer
        if not self._is_automatic:
            keeper.workspace.check_root()  # nothing is saved, but a folder that is gone is told
            return timer
        due = due_with_git(due_at(self._pace, pending.first, pending.last), now, self._git_busy(now))
        if due > now:
            return min(due - now, timer)
        keeper.save_settled(now, lambda: self._stopping)
        return 0.0

    def _git_busy(self, now: float) -> float | None:
        """Since when git holds the lock of the workspace's own repository; None if it does not."""
        if not gitlock.is_held(self._entry.root):
            self._git_busy_since = None
        elif self._git_busy_since is None:
            self._git_busy_since = now
        return self._git_busy_since

    def _finish(self) -> None:
        """The last checkpoint before the daemon ends; what it can't save, the next start catches up with."""
        keeper = self._keeper
        if keeper is None:
            return
        try:
            if self._is_current and self._is_automatic:
                keeper.save(Intent(Kind.AUTO))
        except NothingToDo:
            pass
        except Exception as error:
            _log.warning("%s: the last changes were not saved: %s", self._entry.id, error)
        finally:
            keeper.close()
            self._keeper = None

    def _answer_requests(self) -> None:
        keeper = self._keeper
        if keeper is None or not (self._is_current or keeper.facts.checkpoints):
            self._refuse_requests("The workspace is not ready.")
            return
        for request in self._waiting():
            if not request.answer.set_running_or_notify_cancel():
                continue
            try:
                with self._meter.on_behalf_of(request.job):
                    answer = request.action(keeper)
                request.answer.set_result(answer)
            except BaseException as error:  # belongs to whoever asked, and must not end this thread
                try:
                    if isinstance(error, WorkspaceUnavailable):
                        self._failed(error)
                finally:
                    request.answer.set_exception(error)

    def _refuse_requests(self, otherwise: str) -> None:
        reasons = " ".join(self.health.reasons) or otherwise
        for request in self._waiting():
            request.refuse(WorkspaceUnavailable(reasons))

    def _waiting(self) -> Iterator[_Request]:
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._requests.get_nowait()

    def _succeeded(self) -> None:
        self.health.well("work")
        self.health.activity = "paused" if self.paused else "watching"

    def _failed(self, error: Exception) -> None:
        """Say what is wrong and try again later; not at all where only its owner can change something."""
        if isinstance(error, Interrupted):
            return
        known = isinstance(error, BacktrailError)
        reason = error.message if isinstance(error, BacktrailError) else f"{type(error).__name__}: {error}"
        if reason not in self.health.reasons:
            _log.warning("%s: %s", self._entry.id, reason, exc_info=None if known else error)
        self.health.trouble("work", reason)
        if isinstance(error, WorkspaceUnavailable):
            self._is_current = False
            self._circumstance = AWAY
        never = isinstance(error, RefusedWorkspace)
        self._retry_at = math.inf if never else time.monotonic() + RETRY_SECONDS

    def _tell(self, kind: str, data: Mapping[str, str]) -> None:
        self._events.append(kind, self._entry.id, self._root, data=data)


def _let_go() -> DaemonStopping:
    """Nothing was begun: whoever asks again finds the next worker, the next daemon, or that there is none."""
    return DaemonStopping("The daemon is letting go of this folder.", "Ask again in a moment.")
