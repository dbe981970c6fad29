"""What a worker does by the clock, whatever happens or does not happen in the workspace."""

import contextlib
import logging
from collections.abc import Callable

from backtrail.errors import BacktrailError
from backtraild.keeper import Keeper
from backtraild.watch import Dirt

UNWATCHED_SECONDS = 10.0
AUDIT_SECONDS = 6 * 3600.0
ROOT_SECONDS = 30.0
PINS_SECONDS = 3600.0
INDEX_SECONDS = 30.0
FIRST_COMPACT_SECONDS = 600.0  # a machine that is on for some hours a day has its turn as well
FIRST_THIN_SECONDS = 300.0
THIN_SECONDS = 3600.0
FIRST_TRIM_SECONDS = 900.0
TRIM_SECONDS = 3600.0
TRIM_MORE_SECONDS = 1.0
COMPACT_SECONDS = 24 * 3600.0
BUSY_SECONDS = 5.0
HEAL_AGAIN_SECONDS = 600.0  # where it could not be done, as on a full disk

_log = logging.getLogger(__name__)


class Timers:
    """When each of it is due next."""

    def __init__(self, now: float) -> None:
        self._audit_at = now + AUDIT_SECONDS
        self._root_at = now + ROOT_SECONDS
        self._pins_at = now
        self._index_at = now
        self._compact_at = now + FIRST_COMPACT_SECONDS
        self._thin_at = now + FIRST_THIN_SECONDS
        self._unwatched_at = now
        self._heal_at = now
        self._trim_at = now + FIRST_TRIM_SECONDS

    def run(
        self, keeper: Keeper, dirt: Dirt, now: float, *, idle: bool, stop: Callable[[], bool] = lambda: False
    ) -> float:
        """Do what it is time for; seconds until the next of it. What can wait is done only when `idle`."""
        self._look_again(keeper, dirt, now)
        self._keep_in_order(keeper, now, idle=idle)
        if idle and keeper.workspace.remedy.is_due and now >= self._heal_at:
            _heal(keeper, stop)
            self._heal_at = now + HEAL_AGAIN_SECONDS if keeper.workspace.remedy.is_due else now
        return max(0.0, min(self._moments(keeper, now, idle=idle)) - now)

    def _look_again(self, keeper: Keeper, dirt: Dirt, now: float) -> None:
        """What no event tells of is found by looking."""
        if now >= self._audit_at:
            # Writes through memory maps and hard links are reported by no kernel.
            self._audit_at = now + AUDIT_SECONDS
            dirt.mark_everything("it was time for a look at everything")
        if now >= self._root_at:
            # Of a folder above that is moved, or a disk that is mounted over the root, no event tells.
            self._root_at = now + ROOT_SECONDS
            if not keeper.workspace.check_root():
                dirt.mark_everything("another folder has taken the place of the workspace's")
        if keeper.watcher.unwatched and now >= self._unwatched_at:
            self._unwatched_at = now + UNWATCHED_SECONDS
            keeper.look_at_unwatched()

    def _keep_in_order(self, keeper: Keeper, now: float, *, idle: bool) -> None:
        """What the store and the log need now and then."""
        if now >= self._pins_at:
            self._pins_at = now + PINS_SECONDS
            keeper.workspace.release_pins()
        if now >= self._index_at:
            # Of a long conversation, a bit at a time: whoever asks for something is answered in between.
            self._index_at = now if _index_some(keeper) else now + INDEX_SECONDS
        if now >= self._compact_at:
            # One conversation at a time, as it may be long; then whatever else is due comes first.
            self._compact_at = now + (COMPACT_SECONDS if idle and not _compact_one(keeper) else BUSY_SECONDS)
        if now >= self._thin_at:
            self._thin_at = now + (THIN_SECONDS if idle else BUSY_SECONDS)
            if idle:
                _thin_out(keeper)
        if idle and now >= self._trim_at:
            # A batch at a time: whoever has something to tell waits for the same log.
            self._trim_at = now + (TRIM_MORE_SECONDS if _trim_some(keeper) else TRIM_SECONDS)

    def _moments(self, keeper: Keeper, now: float, *, idle: bool) -> list[float]:
        """When something will be due."""
        moments = [
            self._audit_at,
            self._root_at,
            self._pins_at,
            self._index_at,
            self._compact_at,
            self._thin_at,
            self._trim_at if idle else now + BUSY_SECONDS,
        ]
        release = keeper.release_rested(now)
        if release is not None:
            moments.append(release)
        if keeper.workspace.remedy.is_due:
            moments.append(max(self._heal_at, now + BUSY_SECONDS))
        if keeper.watcher.unwatched:
            moments.append(self._unwatched_at)
        return moments


def _index_some(keeper: Keeper) -> bool:
    """Let messages be found that can't be found yet; what fails is tried again later, at the latest by a search."""
    with contextlib.suppress(BacktrailError):
        return keeper.workspace.sessions.index_some()
    return False


def _heal(keeper: Keeper, stop: Callable[[], bool]) -> None:
    """Store again what a reader missed; what fails is tried again later, or by the next save."""
    try:
        keeper.heal_if_due(stop)
    except BacktrailError as error:
        _log.warning("What is damaged could not be stored again: %s", error.message)


def _trim_some(keeper: Keeper) -> bool:
    """Let go of old events; what fails, as on a full disk, is tried again in an hour."""
    with contextlib.suppress(BacktrailError):
        return keeper.trim_log()
    return False


def _thin_out(keeper: Keeper) -> None:
    """Let go of what is too old to be kept; what fails is tried again in an hour."""
    try:
        keeper.prune(reason="age")
    except BacktrailError as error:
        _log.warning("Old checkpoints could not be let go: %s", error.message)


def _compact_one(keeper: Keeper) -> bool:
    """Let a conversation that many small appends have cut up take fewer chunks; False if none was left to look at."""
    with contextlib.suppress(BacktrailError):
        return keeper.workspace.compaction.one()
    return False
