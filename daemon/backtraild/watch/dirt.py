"""What may have changed in a workspace: filled by the thread that reads events, emptied by the worker."""

import threading
import time
from typing import NamedTuple

from msgspec import Struct

from backtraild.model import Path

# Beyond this many paths a look at everything is cheaper than remembering them.
MOST_PATHS = 50_000

OVERFLOW = "the kernel's queue of events overflowed"


class Pending(NamedTuple):
    """That there is dirt: since when, until when it grew, and why everything is suspect, if it is."""

    first: float
    last: float
    reason: str | None


class Taken(Struct, frozen=True):
    """Dirty paths, taken out to be looked at. `reason` says why everything is suspect, if it is."""

    paths: frozenset[Path]
    folders: frozenset[Path]  # appeared as a whole: watch them before anything else
    reason: str | None
    first: float
    last: float

    def __bool__(self) -> bool:
        return bool(self.paths or self.reason)


class Dirt:
    """A set of paths with the times of the first and the last mark. Marking never waits for anything."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._paths: set[Path] = set()
        self._folders: set[Path] = set()
        self._reason: str | None = None
        self._first = self._last = 0.0
        self._woken = False

    def mark(self, path: Path, *, is_new_folder: bool = False) -> None:
        """This path may have changed."""
        with self._changed:
            # In a storm the worker sleeps until it is due: woken by each mark, it would slow the reader down.
            if not self._is_dirty() or is_new_folder:
                self._wake()
            self._stamp()
            if self._reason is None:
                self._paths.add(path)
            if is_new_folder:
                self._folders.add(path)
            self._stay_small()

    def mark_everything(self, reason: str) -> None:
        """Anything may have changed."""
        with self._changed:
            self._wake()
            self._stamp()
            self._suspect_everything(reason)

    def peek(self) -> Pending | None:
        """Whether anything has gathered, without taking it out; cheap, however much it is."""
        with self._changed:
            return Pending(self._first, self._last, self._reason) if self._is_dirty() else None

    def count(self) -> int:
        """How many paths have gathered; 1 where everything is suspect."""
        with self._changed:
            return len(self._paths) or int(self._reason is not None)

    def take(self) -> Taken:
        """Take everything out."""
        with self._changed:
            taken = Taken(
                frozenset(self._paths), frozenset(self._folders), self._reason, self._first, self._last
            )
            self._paths, self._folders, self._reason = set(), set(), None
            self._first = self._last = 0.0
            return taken

    def take_folders(self) -> frozenset[Path]:
        """Only the new folders; they stay dirty."""
        with self._changed:
            folders, self._folders = frozenset(self._folders), set()
            return folders

    def put_back(self, taken: Taken) -> None:
        """Looking at it failed: it is as dirty as before."""
        with self._changed:
            self._first = min(filter(None, (taken.first, self._first)), default=0.0)
            self._last = max(taken.last, self._last)
            self._folders |= taken.folders
            if taken.reason:
                self._suspect_everything(taken.reason)
            elif self._reason is None:
                self._paths |= taken.paths
            self._stay_small()

    def wake(self) -> None:
        """Let a waiting worker look up from its wait, for another reason than dirt."""
        with self._changed:
            self._wake()

    def wait(self, seconds: float | None) -> None:
        """Until something is marked that was clean, somebody wakes, or the time is over.

        What happened since the last wait counts: between a look at the dirt and this call nothing is missed.
        """
        with self._changed:
            if not self._woken:
                self._changed.wait(seconds)
            self._woken = False

    def _is_dirty(self) -> bool:
        return bool(self._paths or self._reason)

    def _wake(self) -> None:
        self._woken = True
        self._changed.notify_all()

    def _stamp(self) -> None:
        self._last = time.monotonic()
        self._first = self._first or self._last

    def _stay_small(self) -> None:
        if len(self._paths) > MOST_PATHS:
            self._suspect_everything(f"more than {MOST_PATHS:,} paths changed at once")
        if len(self._folders) > MOST_PATHS:
            self._folders = set()  # everything is suspect by now, so all folders will be entered

    def _suspect_everything(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._paths = set()
