"""The manager's watchdog, fed only while the daemon proves that it works."""

import logging
import os
import threading
from collections.abc import Callable, Mapping

from backtraild import notify

# Fed three times per turn, so that one late or lost feeding costs nothing. An idle daemon wakes no more often.
FEEDINGS = 3
SHORTEST = 1.0

_log = logging.getLogger(__name__)


class Liveness:
    """A thread that asks the daemon for a sign of life, and passes it on to the manager."""

    def __init__(self, alive: Callable[[], bool]) -> None:
        self._alive = alive
        self._stopped = threading.Event()
        self._failing = False

    def start(self) -> None:
        """Begin, if the manager that started this process has a watchdog."""
        seconds = interval(os.environ, os.getpid())
        if seconds is not None:
            threading.Thread(target=self._run, args=(seconds,), name="liveness", daemon=True).start()

    def stop(self) -> None:
        """Feed no more. A check that is under way is not waited for: what it asks may be gone already."""
        self._stopped.set()

    def _run(self, seconds: float) -> None:
        while not self._stopped.is_set():
            if self._check() and not self._stopped.is_set():
                notify.alive()
            self._stopped.wait(seconds)

    def _check(self) -> bool:
        try:
            alive, cause = self._alive(), None
        except Exception as error:
            alive, cause = False, error
        if not alive and not self._failing and not self._stopped.is_set():
            _log.error("The daemon does not answer itself; it will be restarted.", exc_info=cause)
        self._failing = not alive
        return alive


def interval(environment: Mapping[str, str], process: int) -> float | None:
    """Seconds between two feedings; None if nobody waits for them from this process."""
    turn = environment.get("WATCHDOG_USEC", "")
    if not turn.isdecimal() or int(turn) == 0:
        return None
    if environment.get("WATCHDOG_PID", str(process)) != str(process):
        return None  # meant for the process that started this one
    return max(int(turn) / 1_000_000 / FEEDINGS, SHORTEST)
