"""Choosing how to watch a workspace."""

import os
import sys

from backtraild.watch.dirt import Dirt
from backtraild.watch.polling import PollingWatcher
from backtraild.watch.stock import StockWatcher
from backtraild.watch.watcher import Watcher

if sys.platform == "linux":
    from backtraild.watch.inotify import InotifyHub

# File systems whose changes are made by others, of which this kernel learns nothing.
_REMOTE = (
    "nfs",
    "cifs",
    "smb",
    "9p",
    "fuse",
    "afs",
    "ceph",
    "glusterfs",
    "lustre",
    "vboxsf",
    "prl_fs",
    "davfs",
)


class Hub:
    """Makes watchers; on Linux they share one descriptor."""

    def __init__(self, cookie_folder: str) -> None:
        self._inotify = InotifyHub(cookie_folder) if sys.platform == "linux" else None

    def watcher(self, root: bytes, dirt: Dirt, wanted: str = "auto") -> Watcher:
        """The best watcher there is for a workspace's file system, or polling where that is wanted."""
        if wanted == "poll" or is_remote(root):
            return PollingWatcher(dirt)
        return self._inotify.attach(dirt) if self._inotify else StockWatcher(root, dirt)

    def close(self) -> None:
        """Stop all watching."""
        if self._inotify:
            self._inotify.stop_reading()


def is_remote(root: bytes) -> bool:
    """Does the folder lie on a file system that others can change unseen?"""
    return file_system_type(root).startswith(_REMOTE)


def file_system_type(root: bytes) -> str:
    """What the kernel calls the file system that holds a folder; empty where it can't be told."""
    device = os.stat(root).st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            rows = [line.split() for line in file]
    except OSError:
        return ""
    for row in rows:
        if row[2] == wanted:
            return row[row.index("-") + 1]
    return ""
