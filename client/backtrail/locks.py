"""File locks that end with the process that holds them: taken, or looked at, without waiting."""

import fcntl
import os
from pathlib import Path


def try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    """Take a lock unless somebody else has it."""
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def is_held(file: Path) -> bool:
    """Whether somebody has the lock. A look is a lock itself, for a moment: nobody may be about to take it."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)
