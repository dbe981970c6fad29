"""Timing: how long something takes, and what one durable write costs on this disk just now."""

import os
import time
from collections.abc import Callable
from pathlib import Path


def seconds(action: Callable[[], object]) -> float:
    """How long one call takes."""
    started = time.perf_counter()
    action()
    return time.perf_counter() - started


def on_calm_disk(action: Callable[[], object]) -> float:
    """How long one call takes that need not write what others have left unwritten."""
    os.sync()
    return seconds(action)


def write_and_sync(folder: Path) -> float:
    """The unit of durability: one block written and on disk."""
    descriptor = os.open(folder / "sync-probe", os.O_CREAT | os.O_WRONLY | os.O_APPEND)

    def write() -> None:
        os.write(descriptor, b"x" * 4096)
        os.fsync(descriptor)

    try:
        return seconds(write)
    finally:
        os.close(descriptor)
