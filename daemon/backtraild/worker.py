"""One thread per workspace, the only one that touches its store: waits, looks, saves, answers."""

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import TypeVar

from backtrail.errors import (
    BacktrailError,
    NothingToDo,
    RefusedWorkspace,
    RestoreInterrupted,
    StoreDamaged,
    StoreFull,
    WorkspaceUnavailable,
)
from backtrail.pathtext import to_text
from backtraild import courtesy, stores
from backtraild.courtesy import Courtesy
from backtraild.gitlock import GitWatch
from backtraild.health import Health
from backtraild.housekeeping import Gate, Housekeeper
from backtraild.inbox import Inbox, let_go
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
HALF_WAY = "while a restore had stopped half-way"
# The workspace is opened again: its folder may be back then, and an interrupted restore is finished or undone.
_REOPENING = (WorkspaceUnavailable, RestoreInterrupted)

_log = logging.getLogger(__name__)
_Answer = TypeVar("_Answer")


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
        gate: Gate,
        job: Job = None,
    ) -> None:
        self._entry = entry
        self._folder = folder
        self._hub = hub
        self._events = events
        self._redactor = redactor
        self._gate = gate
        self._root = to_text(os.fsencode(entry.root))
        self._meter = Meter(entry.id, self._root, progress)
        self._first_job = job  # who asked for the folder to be watched, and waits for the first look
        self._dirt = Dirt()
        self._inbox: Inbox[Keeper] = Inbox()
        self._pace = Pace(entry.config.quiet, entry.config.patience)
        self._git = GitWatch(entry.root)
        self._keeper: Keeper | None = None
        self._housekeeper: Housekeeper | None = None
        self._is_current = False  # everything has been looked at, and hints have come in ever since
        self._circumstance = NOT_WATCHING
        self._retry_at = 0.0
        self._save_at = 0.0  # not before that, while there is no room for it
        self._courtesy = Courtesy()
        self._timers = Timers(time.monotonic())
        self._stopping = False
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
        answer = self._inbox.put(action, job)
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
        return self._inbox.is_empty and not (self._is_automatic and self._dirt.peek())

    def _run(self) -> None:
        try:
            while not self._stopping:
                self._dirt.wait(self._step())
            self._finish()
        finally:
            self._events.let_go()
            self._inbox.close()
            if not self.first_look.done():
                self.first_look.set_exception(let_go())

    def _step(self) -> float | None:
        """Do what is due; how long to wait then."""
        if not self._is_current and self._may_retry():
            is_asked = not self._inbox.is_empty
            self._catch_up()
            if not (self._is_current or is_asked or self._inbox.is_empty):
                return 0.0  # what failed began before anybody asked, and may be over: that is no answer
        is_answered, pending = self._answer_requests(), self._dirt.peek()
        if self._courtesy.is_due(is_answered, pending and pending.first, time.monotonic()):
            return courtesy.SECONDS
        self._events.let_go()
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
        asked_for = not self._inbox.is_empty and not math.isinf(self._retry_at)
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
        self._close()
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
        limit = self._entry.config.max_checkpoints
        self._housekeeper = Housekeeper(
            self._keeper, self.health, self._gate, self._dirt.wake, limit, time.monotonic()
        )
        return self._keeper

    def _close(self) -> None:
        housekeeper, self._housekeeper = self._housekeeper, None
        if housekeeper is not None:
            housekeeper.stop()
        keeper, self._keeper = self._keeper, None
        if keeper is not None:
            keeper.close()

    def _tend(self) -> float | None:
        keeper, housekeeper, now = self._keeper, self._housekeeper, time.monotonic()
        if keeper is None or housekeeper is None:
            return None
        keeper.tell_new()
        if self._is_idle:
            self._foresee(keeper)
        keeper.workspace.settle(lambda: not self._inbox.is_empty)
        keeper.watch_new_folders()
        housekeeper.keep_limits()
        timer = self._timers.run(keeper, self._dirt, now, idle=self._is_idle, stop=lambda: self._stopping)
        timer = min(timer, housekeeper.run(now, idle=self._is_idle))
        pending = self._dirt.peek()
        if pending is None:
            return timer
        if not self._is_automatic:
            keeper.workspace.check_root()  # nothing is saved, but a folder that is gone is told
            return timer
        due = due_with_git(due_at(self._pace, pending.first, pending.last), now, self._git.busy_since(now))
        due = max(due, self._save_at)
        if due > now:
            return min(due - now, timer)
        self._save_settled(keeper, now)
        return 0.0

    def _foresee(self, keeper: Keeper) -> None:
        """Answer what may be asked next; nobody has asked yet, so nothing fails for it."""
        try:
            keeper.workspace.history.foresee()
        except Exception as error:
            _log.warning("%s: a diff could not be made ahead: %s", self._entry.id, error, exc_info=error)

    def _save_settled(self, keeper: Keeper, now: float) -> None:
        if keeper.workspace.room.is_worth_trying():
            try:
                keeper.save_settled(now, lambda: self._stopping)
                return
            except StoreFull:  # told by the housekeeper, who makes room; all else goes on
                pass
        self._save_at = now + RETRY_SECONDS

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
            self._close()

    def _answer_requests(self) -> bool:
        """Do what was asked for; False if nothing was."""
        is_asked = False
        keeper = self._keeper
        if keeper is None or not (self._is_current or keeper.facts.checkpoints):
            reasons = " ".join(self.health.reasons) or "The workspace is not ready."
            self._inbox.refuse_all(WorkspaceUnavailable(reasons))
            return False
        for request in self._inbox.waiting():
            is_asked = True
            # Whoever asks hears of it first, and the others when the answer is on its way.
            self._events.let_go()
            self._events.hold_back()
            if self._housekeeper is not None:
                self._housekeeper.keep_limits()
            if not request.answer.set_running_or_notify_cancel():
                continue
            try:
                with self._meter.on_behalf_of(request.job):
                    answer = request.action(keeper)
                request.answer.set_result(answer)
            except BaseException as error:  # belongs to whoever asked, and must not end this thread
                try:
                    if isinstance(error, _REOPENING):
                        self._failed(error)
                    elif isinstance(error, StoreDamaged):
                        keeper.workspace.remedy.met(error)  # the next idle moment is for healing
                finally:
                    request.answer.set_exception(error)
        return is_asked

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
        if isinstance(error, _REOPENING):
            self._is_current = False
            self._circumstance = AWAY if isinstance(error, WorkspaceUnavailable) else HALF_WAY
        never = isinstance(error, RefusedWorkspace)
        self._retry_at = math.inf if never else time.monotonic() + RETRY_SECONDS

    def _tell(self, kind: str, data: Mapping[str, str]) -> None:
        self._events.append(kind, self._entry.id, self._root, data=data)
