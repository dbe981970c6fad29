"""How far long work is, told now and then; quick work tells nothing."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator

from backtraild.model import Job, Progress

INTERVAL_SECONDS = 0.1

_log = logging.getLogger(__name__)


class Meter:
    """Tells of the work on one workspace, at most ten times a second."""

    def __init__(
        self,
        workspace: str,
        root: str,
        tell: Callable[[Progress], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._workspace = workspace
        self._root = root
        self._tell = tell
        self._clock = clock
        self._job: Job = None

    @contextlib.contextmanager
    def on_behalf_of(self, job: Job) -> Iterator[None]:
        """What is done in this block is done for a request."""
        self._job = job
        try:
            yield
        finally:
            self._job = None

    def begin(self, phase: str, total: int | None = None) -> Callable[[int], None]:
        """Work begins; what is returned is to be called with how much of it is done."""
        due = self._clock() + INTERVAL_SECONDS

        def advance(done: int) -> None:
            nonlocal due
            now = self._clock()
            if now >= due:
                due = now + INTERVAL_SECONDS
                self._say(phase, done, total)

        return advance

    def _say(self, phase: str, done: int, total: int | None) -> None:
        # The total is what there was at the last look; there may be more by now.
        most = None if total is None else max(done, total)
        try:
            self._tell(Progress(self._workspace, self._root, self._job, phase, done, most))
        except Exception:  # the work itself matters more than who hears of it
            _log.exception("progress of %s could not be told", self._workspace)


def silent() -> Meter:
    """For work that nobody waits for."""
    return Meter("", "", lambda _: None)
