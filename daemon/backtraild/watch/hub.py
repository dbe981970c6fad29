"""Choosing how to watch a workspace."""

import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from backtraild.mounts import file_system_type, is_remote
from backtraild.scouts.gathering import Scouts
from backtraild.scouts.report import Report
from backtraild.watch.dirt import Dirt
from backtraild.watch.polling import PollingWatcher
from backtraild.watch.stock import StockWatcher
from backtraild.watch.watcher import Watcher

if sys.platform == "linux":
    from backtraild.watch.inotify import InotifyHub

# An event of our own needs a tenth of a millisecond; a machine under load gets time.
COOKIE_SECONDS = 5.0

_log = logging.getLogger(__name__)


class Hub:
    """Makes watchers; on Linux they share one descriptor."""

    def __init__(self, cookie_folder: str, scouts: Scouts | None = None) -> None:
        self._scouts = scouts
        self._inotify: InotifyHub | None = None
        self._trouble: str | None = None
        if sys.platform == "linux":
            self._start_inotify(cookie_folder)

    def watcher(self, root: bytes, dirt: Dirt, wanted: str = "auto") -> Watcher:
        """The best watcher there is for a workspace's file system, or polling where that is wanted."""
        if wanted == "poll" or is_remote(file_system_type(root)):
            return PollingWatcher(dirt)
        if self._trouble is not None:
            return PollingWatcher(dirt, trouble=self._trouble)
        return self._inotify.attach(dirt) if self._inotify else StockWatcher(root, dirt)

    def report(self, workspace: str, stop: Callable[[], bool]) -> AbstractContextManager[Report | None]:
        """What scouts have found in a workspace, once; None if there is nothing that could be relied on."""
        if self._scouts is None or self._inotify is None:
            return nullcontext()
        return self._scouts.report(workspace, stop)

    def close(self) -> None:
        """Stop all watching."""
        if self._inotify:
            self._inotify.stop_reading()

    def _start_inotify(self, cookie_folder: str) -> None:
        """Watch with inotify if an event of our own comes back; no file is made in a workspace to find out."""
        try:
            self._inotify = InotifyHub(cookie_folder, self._scouts)
        except OSError as error:
            self._distrust(f"inotify can't be used ({error.strerror})")
            return
        try:
            is_heard = self._inotify.echo(COOKIE_SECONDS)
        except OSError as error:
            # The limit of watches, most likely, of which every folder will say so, and they recover one by one; or
            # a disk that is full or fails, which says nothing about inotify: saves look at everything until then.
            _log.warning("The folder of cookies can't be watched: %s.", error.strerror)
            return
        if not is_heard:
            self._inotify.stop_reading()
            self._inotify = None
            self._distrust("inotify does not report changes on this system")

    def _distrust(self, reason: str) -> None:
        self._trouble = f"{reason}, so everything is looked at from time to time"
        _log.warning("%s.", self._trouble)
