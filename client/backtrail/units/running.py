"""A daemon that runs outside the manager, because a command started it: found by its lock, and ended."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from backtrail.locks import is_held, try_lock
from backtrail.paths import Places
from backtrail.units.answers import ServiceFailed

# It saves what is pending before it ends, as long as the unit file gives it.
SECONDS = 60.0
LOOK_SECONDS = 0.05


@contextmanager
def alone(where: Places, seconds: float = SECONDS) -> Iterator[None]:
    """In this block no command starts a daemon: one that wants to waits, and finds the manager's."""
    where.make()
    descriptor = os.open(where.starting, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        if not _within(seconds, lambda: try_lock(descriptor)):
            raise ServiceFailed(
                f"Another command has been starting the Backtrail daemon for {seconds:.0f} seconds.",
                f"Try again when it is done. It holds {where.starting}.",
            )
        yield
    finally:
        os.close(descriptor)


def end(lock: Path, seconds: float = SECONDS) -> int | None:
    """End the daemon that holds this lock and wait until it is gone; its process, or None if none ran."""
    process = _holder(lock)
    if process is None:
        return None
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGTERM)
    if not _within(seconds, lambda: not is_held(lock)):
        raise ServiceFailed(
            f"The Backtrail daemon that runs now (process {process}) did not end within {seconds:.0f} seconds.",
            f"End it with `kill {process}` when it is done, then try again.",
        )
    return process


def _holder(lock: Path) -> int | None:
    """The process that holds the lock.

    A daemon that has just taken it has not written its number yet: what is read may be that of an earlier one, and
    belong to any process by now. So a number counts only if it is still there after a while, with the lock held.
    """
    for _ in range(20):
        if not is_held(lock):
            return None
        before = _number(lock)
        time.sleep(LOOK_SECONDS)
        if before is not None and before == _number(lock) and is_held(lock):
            return before
    raise ServiceFailed(
        f"A Backtrail daemon runs, but its lock {lock} does not say in which process.",
        "Find it with `pgrep -af backtraild`, end it, then try again.",
    )


def _number(lock: Path) -> int | None:
    text = lock.read_text(errors="replace").strip()
    return int(text) if text.isdecimal() else None


def _within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Wait until something holds; whether it did in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(LOOK_SECONDS)
    return True
