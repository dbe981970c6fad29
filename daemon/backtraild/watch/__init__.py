"""Noticing that something may have changed: the only package that imports watchdog.

Events are hints. A watcher puts paths into a `Dirt`; what really happened is found out by looking at them.
"""

from backtraild.watch.dirt import OVERFLOW, Dirt, Taken
from backtraild.watch.hub import Hub
from backtraild.watch.interruptible import Interrupted, Interruptible
from backtraild.watch.watcher import Watcher

__all__ = ["OVERFLOW", "Dirt", "Hub", "Interrupted", "Interruptible", "Taken", "Watcher"]
