"""The housekeeping of one store: notices what is due, has it done, puts the outcome in place. Used by one thread."""

import logging
import math
import os
import time
from collections.abc import Callable

from backtrail.errors import BacktrailError
from backtraild.health import Health
from backtraild.housekeeping import plan
from backtraild.housekeeping.gate import Gate
from backtraild.housekeeping.plan import Situation, Step
from backtraild.keeper import Facts, Keeper
from backtraild.retention import Ranking, beyond
from backtraild.store import failing
from backtraild.upkeep import Swept, Tidied, Upkeep, UpkeepFailed, Weighed
from backtraild.workspace import Bound

BEGIN_SECONDS = 10.0  # things are let go one after the other: upkeep begins so long after the first
CALM_SECONDS = 60.0
CALM_FACTOR = 20.0  # upkeep takes at most a twentieth of the time
AGAIN_SECONDS = 5.0
GAVE_WAY_SECONDS = 1.0
EXHAUSTED_SECONDS = 600.0
FAILED_SECONDS = 600.0

_log = logging.getLogger(__name__)


class Housekeeper:
    """Keeps the store of one watched folder within its bounds."""

    def __init__(
        self,
        keeper: Keeper,
        health: Health,
        gate: Gate,
        wake: Callable[[], None],
        max_checkpoints: int,
        now: float,
    ) -> None:
        self._keeper = keeper
        self._health = health
        self._gate = gate
        self._wake = wake
        self._max_checkpoints = max_checkpoints
        self._store, self._room = keeper.workspace.store, keeper.workspace.room
        self._rubbish = keeper.workspace.rubbish
        self._upkeep = Upkeep(self._store.git_dir, wake)
        self._is_tidying = self._is_urgent = self._is_unfinished = False
        self._tidied: Tidied | None = None  # what is in place, and whose old packs are being swept
        self._ranking = Ranking((), 0)
        self._goal = plan.GOAL
        self._weighed_up_to: int | None = None  # the newest checkpoint when all were weighed
        self._has_let_go = False  # since then
        self._rubbish_seen = self._rubbish_at_begin = 0
        self._packs_at_begin = self._packs_left = 0  # of the last round
        self._began_at = 0.0
        self._calm_until, self._held_until = now + CALM_SECONDS, 0.0
        self._exhausted_until = 0.0
        self._exhausted_with = 0, 0, frozenset[int]()  # as things were then
        self._told_bound: Bound | None = None
        self._limited: Facts | None = None

    def keep_limits(self) -> None:
        """Let go of what exceeds `max_checkpoints`, so that whoever asks next finds no more than these."""
        keeper = self._keeper
        if keeper.workspace.checkpoints <= self._max_checkpoints or keeper.facts is self._limited:
            return
        try:
            keeper.prune(reason="max_checkpoints", spare=self._max_checkpoints // plan.SPARE_PART)
            self._health.well("retention")
        except BacktrailError as error:
            self._health.trouble("retention", error.message)
        self._limited = keeper.facts  # where all are protected, asking again is no use

    def run(self, now: float, *, idle: bool) -> float:
        """Do what is due; seconds until something may be, if nobody wakes the worker before."""
        self._tell_of_room(idle)
        outcome = self._upkeep.take()
        if outcome is not None:
            self._ended(outcome, now)
        if self._upkeep.running:
            return math.inf
        situation = self._situation(now)
        step = plan.next_step(situation)
        begin_at = self._begin_at(step, situation)
        if step is Step.NOTHING or now < begin_at:
            return math.inf if step is Step.NOTHING else begin_at - now
        if self._gate.enter(self._wake):
            self._guarded(lambda: self._begin(step, now), now)
        return math.inf

    def stop(self) -> None:
        """Give up what is under way, at once."""
        self._upkeep.stop()
        self._let_go_of_gate()

    def _give_way(self) -> None:
        """A save needs the room: it is in the midst of being made, in this very thread."""
        self.stop()
        self._held_until = time.monotonic() + GAVE_WAY_SECONDS

    def _tell_of_room(self, idle: bool) -> None:
        refusal = self._room.refusal
        if refusal is not None and self._room.is_wide_enough() and idle:
            self._room.eased()  # nothing waits for being saved, and it could be
            refusal = None
        if refusal is None:
            self._told_bound = None
            self._health.well("space")
        elif refusal.bound is not self._told_bound:  # its figures change all the time, which is nothing new
            self._told_bound = refusal.bound
            self._health.trouble("space", refusal.reason)

    def _situation(self, now: float) -> Situation:
        used, refusal = self._room.used, self._room.refusal
        if self._rubbish.left != self._rubbish_seen:
            if self._rubbish_seen == self._rubbish_at_begin:
                self._calm_until = max(self._calm_until, now + BEGIN_SECONDS)
            self._rubbish_seen = self._rubbish.left
        if used <= self._room.cap * plan.NEAR:
            self._goal = plan.GOAL
        bound = None if refusal is None else refusal.bound
        return Situation(
            used,
            self._room.cap,
            self._store.packs,
            self._rubbish.is_there,
            bound,
            self._is_exhausted(used, now),
            self._is_unfinished,
            self._packs_left,
        )

    def _is_exhausted(self, used: int, now: float) -> bool:
        before, *others = self._exhausted_with
        if now >= self._exhausted_until or used > before + self._room.cap // 100:
            return False
        return others == [self._rubbish.left, self._store.pinned]

    def _begin_at(self, step: Step, situation: Situation) -> float:
        is_pressing = step.is_urgent or situation.has_backlog
        return self._held_until if is_pressing else max(self._held_until, self._calm_until)

    @property
    def _is_under_floor(self) -> bool:
        return self._room.refusal is not None and self._room.refusal.bound is Bound.FLOOR

    def _begin(self, step: Step, now: float) -> None:
        self._began_at = now
        if step is Step.WEIGH:
            self._ranking, self._weighed_up_to = self._keeper.workspace.ranking(), self._store.newest
            self._upkeep.weigh(self._ranking.numbers)
            return
        if self._is_under_floor:
            self._keeper.prune(reason="age")
        self._tidy(urgent=step.is_urgent)

    def _tidy(self, *, urgent: bool) -> None:
        self._rubbish_at_begin = self._rubbish.left
        packs = self._store.begin_upkeep()
        self._is_tidying, self._is_urgent = True, urgent
        self._packs_at_begin = self._store.packs
        largest = _largest_pack(self._store.git_dir)
        copies = plan.copies(self._room.cap - self._room.used, self._room.disk.room, largest)
        self._upkeep.tidy(packs, copies.room, urgent)
        if copies.reserved:
            self._room.reserve(copies.reserved, self._give_way)

    def _ended(self, outcome: Weighed | Tidied | Swept | UpkeepFailed, now: float) -> None:
        if isinstance(outcome, UpkeepFailed):
            self._failed(outcome.reason, now)
        elif isinstance(outcome, Weighed):
            self._guarded(lambda: self._make_room(outcome), now)
        elif isinstance(outcome, Tidied):
            self._guarded(lambda: self._put_in_place(outcome, now), now)
        elif self._tidied is not None:
            tidied = self._tidied
            self._guarded(lambda: self._conclude(tidied, now), now)

    def _make_room(self, weighed: Weighed) -> None:
        """Let go of what does not fit, unless somebody has protected it since; then give back its bytes."""
        tables = self._room.used - self._store.pack_bytes
        surplus = beyond(self._ranking, weighed.cumulative, int(self._room.cap * self._goal) - tables)
        now = self._keeper.workspace.ranking()
        free = set(now.numbers[now.protected :])
        # Where something is damaged, nobody knows what the others need, and no byte would come back for them.
        numbers = [number for number in surplus if number in free] if weighed.complete else []
        self._has_let_go = bool(numbers)
        self._keeper.let_go(numbers, Bound.CAP.value)
        self._tidy(urgent=True)

    def _put_in_place(self, tidied: Tidied, now: float) -> None:
        is_done = self._store.end_upkeep(tidied)
        self._is_tidying = False
        if not is_done:  # something that was to go is needed again
            self._held_until = now + AGAIN_SECONDS
            self._let_go_of_gate()
            return
        if self._is_urgent:  # the next save needs the room
            self._conclude(tidied, now)
            return
        self._room.release()
        self._tidied = tidied
        self._upkeep.sweep()

    def _conclude(self, tidied: Tidied, now: float) -> None:
        """The old packs go as well: what is known now, and when to look again."""
        self._store.sweep()
        self._let_go_of_gate()
        self._packs_left = self._packs_at_begin - len(tidied.replaced) + len(tidied.made)
        took = now - self._began_at
        self._calm_until = now if tidied.more else now + max(CALM_SECONDS, CALM_FACTOR * took)
        self._note_damage(tidied.incomplete)
        if not tidied.more and self._rubbish.left == self._rubbish_at_begin:
            self._rubbish.took_away()
        self._is_unfinished = self._is_urgent and tidied.more and tidied.after < tidied.before
        if self._is_urgent and not self._is_unfinished:
            self._judge(now)

    def _judge(self, now: float) -> None:
        """Was that all that can be done to make room, for the time being?"""
        if self._has_let_go:
            self._goal = max(0.0, self._goal - plan.GOAL_STEP)  # in case that it was not enough
        elif self._weighed_up_to == self._store.newest or self._is_under_floor:
            self._exhausted_until = now + EXHAUSTED_SECONDS
            self._exhausted_with = self._room.used, self._rubbish.left, self._store.pinned
        self._weighed_up_to, self._has_let_go = None, False

    def _note_damage(self, reason: str | None) -> None:
        if reason is None:
            self._health.well("upkeep")
        else:
            self._health.trouble("upkeep", f"Space can't be given back: {reason}")

    def _guarded(self, work: Callable[[], None], now: float) -> None:
        try:
            work()
        except (BacktrailError, OSError) as error:
            self._upkeep.stop()
            self._failed(str(error), now)

    def _failed(self, reason: str, now: float) -> None:
        _log.warning("%s: upkeep failed and is tried again later: %s", self._store.git_dir, reason)
        self._held_until = now + FAILED_SECONDS
        self._weighed_up_to = None  # nothing was found out
        self._let_go_of_gate()

    def _let_go_of_gate(self) -> None:
        if self._is_tidying:
            self._is_tidying = False
            self._store.abandon_upkeep()
        self._room.release()
        self._gate.leave(self._wake)


def _largest_pack(git_dir: str) -> int:
    """The size of the largest pack of a store."""
    with failing("measured"), os.scandir(os.path.join(git_dir, "objects", "pack")) as entries:
        return max((entry.stat().st_size for entry in entries if entry.name.endswith(".pack")), default=0)
