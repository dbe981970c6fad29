"""When changes have settled and are worth a checkpoint. Pure: time comes in as an argument, in seconds."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from backtraild.model import Path

# While git itself is in the middle of a checkout, a checkpoint would show half of it.
GIT_PATIENCE = 60.0
GIT_RECHECK = 0.25
# Files of this size that never rest are captured at growing intervals.
LARGE = 1024 * 1024
LONGEST_REST = 600.0


@dataclass(frozen=True, slots=True)
class Pace:
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


@dataclass(slots=True)
class _Rest:
    interval: float
    until: float


class Restraint:
    """Large files that change all the time: each capture doubles the time until the next one."""

    def __init__(self, pace: Pace) -> None:
        self._pace = pace
        self._rests: dict[Path, _Rest] = {}

    def held_back(self, paths: Iterable[Path], now: float) -> frozenset[Path]:
        """Which of these have been captured so recently that they can wait."""
        return frozenset(path for path in paths if path in self._rests and now < self._rests[path].until)

    def captured(self, sizes: Mapping[Path, int], now: float) -> None:
        """Take note of a checkpoint that captured these files."""
        for path, size in sizes.items():
            if size < LARGE:
                self._rests.pop(path, None)
                continue
            rest = self._rests.get(path)
            # One that was quiet for as long as it had rested begins anew.
            restless = rest is not None and now < rest.until + rest.interval
            interval = min(rest.interval * 2, LONGEST_REST) if rest and restless else self._pace.patience
            self._rests[path] = _Rest(interval, now + interval)

    def first_release(self, paths: Iterable[Path]) -> float | None:
        """When the first of these may be captured again."""
        return min((self._rests[path].until for path in paths if path in self._rests), default=None)
