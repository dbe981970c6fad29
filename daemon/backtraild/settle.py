"""When changes have settled and are worth a checkpoint. Pure: time comes in as an argument, in seconds."""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from backtraild.model import Path

# While git itself is in the middle of a checkout, a checkpoint would show half of it.
GIT_PATIENCE = 60.0
GIT_RECHECK = 0.25
# Files of this size that never rest are captured at growing intervals.
LARGE = 1024 * 1024
LONGEST_REST = 600.0
# Most of a workspace gone or rewritten at once: the state before it is worth keeping.
MASS_CHANGE_FILES = 20
# A slow deletion goes over several checkpoints; deletions this close together are one.
MASS_CHANGE_SECONDS = 60.0


class Pace(Struct, frozen=True):
    """How long nothing may happen before changes count as settled, and how long to wait for that at most."""

    quiet: float = 0.5
    patience: float = 10.0


def due_at(pace: Pace, first: float, last: float) -> float:
    """When a batch of changes that began at `first` and last grew at `last` is to be saved."""
    return min(last + pace.quiet, first + pace.patience)


def due_with_git(due: float, now: float, busy_since: float | None) -> float:
    """The same while git may be at work: `busy_since` is when its lock was first seen, None without one.

    Bounded, because a lock may have been left behind by a crash.
    """
    if busy_since is None or now >= busy_since + GIT_PATIENCE:
        return due
    return max(due, now + GIT_RECHECK)


class _Rest(Struct):
    interval: float
    until: float
    wanted: bool = False  # it changed again before its time


class Restraint:
    """Large files that change all the time: each capture doubles the time until the next one."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._rests: dict[Path, _Rest] = {}

    def held_back(self, paths: Iterable[Path], now: float) -> frozenset[Path]:
        """Which of these have been captured so recently that they can wait."""
        held = frozenset(path for path in paths if path in self._rests and now < self._rests[path].until)
        for path in held:
            self._rests[path].wanted = True
        return held

    def captured(self, sizes: Mapping[Path, int], now: float) -> None:
        """Take note of a checkpoint that captured these files."""
        self._forget_rested(now)
        for path, size in sizes.items():
            if size < LARGE:
                self._rests.pop(path, None)
            else:
                self._lengthen(path, self._pace.patience, now)

    def kept_changing(self, paths: Iterable[Path], now: float) -> None:
        """Take note of files that did not hold still while they were read: trying all the time is no use."""
        for path in paths:
            self._lengthen(path, self._pace.quiet, now)

    def first_release(self, paths: Iterable[Path]) -> float | None:
        """When the first of these may be captured again."""
        return min((self._rests[path].until for path in paths if path in self._rests), default=None)

    def _lengthen(self, path: Path, shortest: float, now: float) -> None:
        rest = self._rests.get(path)
        interval = shortest
        if rest is not None and (rest.wanted or now < rest.until + rest.interval):
            # A save by hand within its rest says nothing about how restless the file is.
            asked_for = now < rest.until
            interval = rest.interval if asked_for else min(max(shortest, rest.interval * 2), LONGEST_REST)
        self._rests[path] = _Rest(interval, now + interval)

    def _forget_rested(self, now: float) -> None:
        """One that was quiet for as long as it had rested begins anew when it changes again."""
        over = [
            path
            for path, rest in self._rests.items()
            if not rest.wanted and now >= rest.until + rest.interval
        ]
        for path in over:
            del self._rests[path]


class Loss(Struct, frozen=True):
    """How much of the state before a checkpoint is not in it any more."""

    before: int  # the checkpoint that still has it
    files: int  # how many files that one has
    deleted: int
    rewritten: int = 0

    @property
    def is_mass_change(self) -> bool:
        """Is it most of the workspace, and not just a few files of a small one?"""
        lost = self.deleted + self.rewritten
        return lost >= MASS_CHANGE_FILES and lost * 2 >= self.files


class Losses:
    """Adds up what is deleted in quick succession."""

    def __init__(self) -> None:
        self._sum: Loss | None = None
        self._last = 0.0

    def noted(self, loss: Loss, now: float) -> Loss | None:
        """The mass change that this loss is or completes, if it does."""
        if self._sum is None or now > self._last + MASS_CHANGE_SECONDS:
            self._sum = Loss(loss.before, loss.files, 0)
        self._sum = Loss(self._sum.before, self._sum.files, self._sum.deleted + loss.deleted)
        if loss.deleted:
            self._last = now
        for found in (self._sum, loss):
            if found.is_mass_change:
                self._sum = None
                return found
        return None
