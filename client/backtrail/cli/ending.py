"""Waiting for a process that is not our child to end."""

import contextlib
import os
import select
import time
from collections.abc import Iterator

from backtrail.errors import DaemonSilent

# It saves what is pending in all workspaces first.
_SECONDS = 60.0
_LOOK_SECONDS = 0.02


@contextlib.contextmanager
def wait_for_end(process: int) -> Iterator[None]:
    """Afterwards the process is gone. It is looked up before, so that its number can't be another's by then."""
    try:
        descriptor = os.pidfd_open(process)
    except AttributeError:  # not Linux
        descriptor = -1
    except OSError:  # gone already, or on another machine
        yield
        return
    try:
        yield
        if not (_ends(descriptor) if descriptor >= 0 else _vanishes(process)):
            raise DaemonSilent(
                f"The daemon, process {process}, was told to end but is still there after {_SECONDS:g} s.",
                "`backtrail daemon logs` tells what it is doing.",
            )
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def _ends(descriptor: int) -> bool:
    waiting = select.poll()
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(_SECONDS * 1000))


def _vanishes(process: int) -> bool:
    deadline = time.monotonic() + _SECONDS
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(_LOOK_SECONDS)
    return False
