"""What a worker does by the clock, whatever happens or does not happen in the workspace."""

import contextlib

from backtrail.errors import BacktrailError
from backtraild.keeper import Keeper
from backtraild.watch import Dirt

UNWATCHED_SECONDS = 10.0
AUDIT_SECONDS = 6 * 3600.0
ROOT_SECONDS = 30.0
PINS_SECONDS = 3600.0
INDEX_SECONDS = 30.0
FIRST_COMPACT_SECONDS = 600.0  # a machine that is on for some hours a day has its turn as well
COMPACT_SECONDS = 24 * 3600.0
BUSY_SECONDS = 5.0


class Timers:
    """When each of it is due next."""

    def __init__(self, now: float) -> None:
        self._audit_at = now + AUDIT_SECONDS
        self._root_at = now + ROOT_SECONDS
        self._pins_at = now
        self._index_at = now
        self._compact_at = now + FIRST_COMPACT_SECONDS
        self._unwatched_at = now

    def run(self, keeper: Keeper, dirt: Dirt, now: float, *, idle: bool) -> float:
        """Do what it is time for; seconds until the next of it. What can wait is done only when `idle`."""
        if now >= self._audit_at:
            # Writes through memory maps and hard links are reported by no kernel.
            self._audit_at = now + AUDIT_SECONDS
            dirt.mark_everything("it was time for a look at everything")
        if now >= self._root_at:
            # Of a folder above that is moved, or a disk that is mounted over the root, no event tells.
            self._root_at = now + ROOT_SECONDS
            if not keeper.workspace.check_root():
                dirt.mark_everything("another folder has taken the place of the workspace's")
        if now >= self._pins_at:
            self._pins_at = now + PINS_SECONDS
            keeper.workspace.release_pins()
        if now >= self._index_at:
            # Of a long conversation, a bit at a time: whoever asks for something is answered in between.
            self._index_at = now if _index_some(keeper) else now + INDEX_SECONDS
        if now >= self._compact_at:
            # One conversation at a time, as it may be long; then whatever else is due comes first.
            self._compact_at = now + (COMPACT_SECONDS if idle and not _compact_one(keeper) else BUSY_SECONDS)
        moments = [self._audit_at, self._root_at, self._pins_at, self._index_at, self._compact_at]
        release = keeper.release_rested(now)
        if release is not None:
            moments.append(release)
        if keeper.watcher.unwatched:
            if now >= self._unwatched_at:
                self._unwatched_at = now + UNWATCHED_SECONDS
                keeper.look_at_unwatched()
            moments.append(self._unwatched_at)
        return max(0.0, min(moments) - now)


def _index_some(keeper: Keeper) -> bool:
    """Let messages be found that can't be found yet; what fails is tried again later, at the latest by a search."""
    with contextlib.suppress(BacktrailError):
        return keeper.workspace.sessions.index_some()
    return False


def _compact_one(keeper: Keeper) -> bool:
    """Let a conversation that many small appends have cut up take fewer chunks; False if none was left to look at."""
    with contextlib.suppress(BacktrailError):
        return keeper.workspace.compaction.one()
    return False
