"""Noticing that the machine was asleep: others may have changed its disks meanwhile."""

import threading
import time
from collections.abc import Callable

CHECK_SECONDS = 30.0
SUSPENDED_SECONDS = 5.0


def seconds_asleep() -> float:
    """How long this machine has been suspended since it started; 0 where the system does not say."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(boot_time) - time.monotonic() if boot_time is not None else 0.0


class SuspendWatch:
    """A thread that calls back after each suspension."""

    def __init__(self, woken: Callable[[], None], asleep: Callable[[], float] = seconds_asleep) -> None:
        self._woken = woken
        self._asleep = asleep
        self._stopped = threading.Event()
        self._before = asleep()
        self._thread = threading.Thread(target=self._run, name="suspend watch", daemon=True)

    def start(self) -> None:
        """Watch from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(CHECK_SECONDS):
            now = self._asleep()
            if now - self._before > SUSPENDED_SECONDS:
                self._woken()
            self._before = now
