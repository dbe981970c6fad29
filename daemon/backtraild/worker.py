"""One thread per workspace, the only one that touches its store: waits, looks, saves, answers."""

import contextlib
import logging
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from backtrail.errors import BacktrailError, NothingToDo, WorkspaceUnavailable
from backtrail.pathtext import to_text
from backtraild.health import Health
from backtraild.keeper import Keeper
from backtraild.model import Intent, Kind
from backtraild.registry import Registered
from backtraild.settle import Pace, due_at, due_with_git
from backtraild.state import EventLog
from backtraild.watch import Dirt, Hub

RETRY_SECONDS = 5.0
UNWATCHED_SECONDS = 10.0
AUDIT_SECONDS = 6 * 3600.0

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


class _Request(NamedTuple):
    action: Callable[[Keeper], Any]
    answer: "Future[Any]"


class Worker:
    """Keeps one workspace checkpointed until it is stopped."""

    def __init__(
        self, entry: Registered, folder: str, hub: Hub, events: EventLog, *, force: bool = False
    ) -> None:
        self._entry = entry
        self._folder = folder
        self._hub = hub
        self._events = events
        self._force = force
        self._dirt = Dirt()
        self._requests: queue.SimpleQueue[_Request] = queue.SimpleQueue()
        self._pace = Pace(entry.config.quiet, entry.config.patience)
        self._git_lock = os.path.join(entry.root, ".git", "index.lock")
        self._git_busy_since: float | None = None
        self._retry_at = 0.0
        self._audit_at = time.monotonic() + AUDIT_SECONDS
        self._unwatched_at = 0.0
        self._stopping = False
        self.paused = entry.paused
        self.health = Health(self._tell)
        self.caught_up = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"worker {entry.id}")
        self._thread.start()

    def ask(self, action: Callable[[Keeper], _Answer]) -> "Future[_Answer]":
        """Let the worker do something with the workspace, between its own looks."""
        answer: Future[_Answer] = Future()
        self._requests.put(_Request(action, answer))
        self._dirt.wake()
        return answer

    def suspect_everything(self, reason: str) -> None:
        """Something happened that may have hidden changes: look at everything."""
        self._dirt.mark_everything(reason)

    def pause(self, paused: bool) -> None:
        """Stop or go on making automatic checkpoints; hints are gathered all the while."""
        self.paused = paused
        self._dirt.wake()

    def stop(self) -> None:
        """Save what is pending and end the thread."""
        self._stopping = True
        self._dirt.wake()

    def join(self) -> None:
        """Wait for the end of the thread."""
        self._thread.join()

    def _run(self) -> None:
        keeper: Keeper | None = None
        while not self._stopping:
            keeper = keeper or self._opened()
            if keeper is None:
                self._refuse_requests()
                self._dirt.wait(RETRY_SECONDS)
            else:
                self._answer_requests(keeper)
                self._dirt.wait(self._turn(keeper))
        if keeper is not None:
            self._finish(keeper)
        self._refuse_requests()

    def _opened(self) -> Keeper | None:
        """Open the workspace and catch up with it; None if that is not possible now."""
        keeper: Keeper | None = None
        try:
            keeper = Keeper(self._entry, self._folder, self._hub, self._events, self.health, self._dirt)
            keeper.catch_up(force=self._force)
        except BacktrailError as error:
            self._failed(error)
            if keeper is not None:
                keeper.close()
            return None
        self.health.well("work")
        self.health.activity = "paused" if self.paused else "watching"
        self.caught_up.set()
        return keeper

    def _turn(self, keeper: Keeper) -> float | None:
        """Do what is due; how long to wait then, None for until something happens."""
        now = time.monotonic()
        if now < self._retry_at:
            return self._retry_at - now
        try:
            wait = self._tend(keeper, now)
        except BacktrailError as error:
            self._failed(error)
            self._retry_at = now + RETRY_SECONDS
            return RETRY_SECONDS
        self.health.well("work")
        self.health.activity = "paused" if self.paused else "watching"
        return wait

    def _tend(self, keeper: Keeper, now: float) -> float | None:
        keeper.watch_new_folders()
        timer = self._run_timers(keeper, now)
        if self.paused or not self._entry.config.auto_checkpoint:
            return timer
        pending = self._dirt.peek()
        if not pending:
            return timer
        due = due_with_git(due_at(self._pace, pending.first, pending.last), now, self._git_busy(now))
        if due > now:
            return due - now
        keeper.save_settled(now)
        return 0.0

    def _run_timers(self, keeper: Keeper, now: float) -> float:
        """What happens by the clock; seconds until the next of it."""
        if now >= self._audit_at:
            # Writes through memory maps and hard links are reported by no kernel.
            self._audit_at = now + AUDIT_SECONDS
            self._dirt.mark_everything("it was time for a look at everything")
        moments = [self._audit_at]
        release = keeper.release_rested(now)
        if release is not None:
            moments.append(release)
        if keeper.watcher.unwatched:
            if now >= self._unwatched_at:
                self._unwatched_at = now + UNWATCHED_SECONDS
                keeper.look_at_unwatched()
            moments.append(self._unwatched_at)
        return max(0.0, min(moments) - now)

    def _git_busy(self, now: float) -> float | None:
        """Since when git holds the lock of the workspace's own repository; None if it does not."""
        if not os.path.lexists(self._git_lock):
            self._git_busy_since = None
        elif self._git_busy_since is None:
            self._git_busy_since = now
        return self._git_busy_since

    def _finish(self, keeper: Keeper) -> None:
        """The last checkpoint before the daemon ends; what it can't save, the next start catches up with."""
        try:
            if not self.paused and self._entry.config.auto_checkpoint:
                keeper.save(Intent(Kind.AUTO))
        except NothingToDo:
            pass
        except BacktrailError as error:
            _log.warning("%s: the last changes were not saved: %s", self._entry.id, error.message)
        finally:
            keeper.close()

    def _answer_requests(self, keeper: Keeper) -> None:
        for request in self._waiting():
            if not request.answer.set_running_or_notify_cancel():
                continue
            try:
                request.answer.set_result(request.action(keeper))
            except BaseException as error:  # belongs to whoever asked, and must not end this thread
                request.answer.set_exception(error)

    def _refuse_requests(self) -> None:
        reasons = " ".join(self.health.reasons) or "Backtrail is stopping."
        for request in self._waiting():
            request.answer.set_exception(WorkspaceUnavailable(reasons))

    def _waiting(self) -> Iterator[_Request]:
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._requests.get_nowait()

    def _failed(self, error: BacktrailError) -> None:
        _log.warning("%s: %s", self._entry.id, error.message)
        self.health.trouble("work", error.message)

    def _tell(self, kind: str, data: Mapping[str, str]) -> None:
        root = to_text(os.fsencode(self._entry.root))
        self._events.append(kind, self._entry.id, root, data=data)
