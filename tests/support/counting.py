"""What an action costs, in counts that are the same on every machine: taken in the very thread that carries it out.

Calls that Python makes are counted by their names. What SQLite does below Python is counted by the kernel, which keeps
account of every thread's reads and writes, and by SQLite's own steps.
"""

import os
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from backtraild.keeper import Keeper
from backtraild.restore import Calls
from backtraild.service import Service
from backtraild.store.packs import Packs

SYNCS = ("fsync", "fdatasync", "sync", "syncfs")
CALLS = (
    *(
        "open",
        "close",
        "stat",
        "lstat",
        "fstat",
        "scandir",
        "listdir",
        "read",
        "pread",
        "readlink",
        "statvfs",
    ),
    *("write", "pwrite", "truncate", "ftruncate", "rename", "replace", "link", "unlink", "mkdir", "rmdir"),
    *("chmod", "fchmod", "utime", *SYNCS),
)
OBJECTS, STATEMENTS, STEPS = "objects read from packs", "statements", "steps in tables"
READS, WRITES, WRITTEN = "calls that read", "calls that write", "bytes written"
_KERNEL = {b"syscr:": READS, b"syscw:": WRITES, b"wchar:": WRITTEN}


def cost_of(service: Service, workspace: str, action: Callable[[Keeper], object]) -> Counter[str]:
    """What a worker does to answer one request."""
    return service.ask(workspace, lambda keeper: _counted(keeper, action))


def _counted(keeper: Keeper, action: Callable[[Keeper], object]) -> Counter[str]:
    found: Counter[str] = Counter()
    connection = keeper.workspace._parts.database.connection._connection
    assert keeper.watcher.barrier(
        10
    )  # which thread reads the events of what was done before, is left to chance
    keeper.workspace.settle()  # and so is whether what no answer waits for has been done
    before = _kernel()
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            if hasattr(os, name):
                patch.setattr(os, name, _counting(getattr(os, name), name, found))
            if name in SYNCS and hasattr(Calls, name):  # a restore's own
                patch.setattr(Calls, name, staticmethod(_counting(getattr(Calls, name), name, found)))
        patch.setattr(Packs, "read_at", _counting(Packs.read_at, OBJECTS, found))
        connection.set_progress_handler(lambda: found.update([STEPS]), 1)
        connection.set_trace_callback(lambda _: found.update([STATEMENTS]))
        try:
            action(keeper)
        finally:
            connection.set_progress_handler(None, 0)
            connection.set_trace_callback(None)
    found.update(_kernel() - before)
    return found


def _counting(function: Callable[..., Any], name: str, found: Counter[str]) -> Callable[..., Any]:
    """The same function, which counts the calls of this thread only: others do as they like meanwhile."""
    thread = threading.get_ident()

    def counted(*arguments: Any, **options: Any) -> Any:
        if threading.get_ident() == thread:
            found[name] += 1
        return function(*arguments, **options)

    return counted


def _kernel() -> Counter[str]:
    """What this thread has read and written so far. Without the account of it, as in some containers, nothing."""
    try:
        with open("/proc/thread-self/io", "rb") as file:
            rows = dict(line.split() for line in file)
    except OSError:
        return Counter()
    return Counter({name: int(rows[key]) for key, name in _KERNEL.items()})
