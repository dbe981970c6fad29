"""Linux: one inotify descriptor for all workspaces, one watch per captured folder, none in excluded ones.

The reading thread only translates and marks. Watches are added and removed by the workers, as they enter
folders and find others gone. A folder that was moved keeps its watch under its old path until a worker
enters it at the new one; what is reported under the old path until then is only a hint too many, because
the worker lists the folder after its watch has the new path.
"""

import ctypes
import itertools
import os
import threading
from collections.abc import Mapping, Set
from errno import ENOSPC
from typing import NamedTuple

from watchdog.observers.inotify_c import (
    InotifyConstants,
    InotifyEvent,
    InotifyFD,
    WatchDescriptor,
    inotify_add_watch,
    inotify_rm_watch,
)

from backtraild.ignore import FolderRules
from backtraild.model import Path, join_path
from backtraild.watch.dirt import Dirt

# Opening and reading are left out: the daemon's own reads would flood it.
_CHANGES = (
    InotifyConstants.IN_CREATE
    | InotifyConstants.IN_DELETE
    | InotifyConstants.IN_MODIFY
    | InotifyConstants.IN_CLOSE_WRITE
    | InotifyConstants.IN_ATTRIB
    | InotifyConstants.IN_MOVED_FROM
    | InotifyConstants.IN_MOVED_TO
    | InotifyConstants.IN_DELETE_SELF
    | InotifyConstants.IN_MOVE_SELF
    | InotifyConstants.IN_ONLYDIR
    | InotifyConstants.IN_EXCL_UNLINK
)
_SELF = InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF | InotifyConstants.IN_UNMOUNT
_ARRIVED = InotifyConstants.IN_CREATE | InotifyConstants.IN_MOVED_TO

OVERFLOW = "the kernel's queue of events overflowed"
LIMIT_REACHED = (
    "the limit of inotify watches is reached; `sudo sysctl fs.inotify.max_user_watches={}` raises it"
)


class _Target(NamedTuple):
    watcher: "InotifyWatcher"
    folder: Path
    rules: FolderRules | None = None  # not known until the folder has been listed: everything counts


class InotifyHub(InotifyFD):
    """The descriptor and the thread that reads it."""

    def __init__(self, cookie_folder: str) -> None:
        super().__init__()
        os.set_inheritable(self._inotify_fd, False)
        self.name = "inotify reader"
        self._targets: dict[int, _Target] = {}
        self._watchers: set[InotifyWatcher] = set()
        self._cookie_folder = os.fsencode(cookie_folder)
        self._cookies: dict[bytes, threading.Event] = {}
        self._numbers = itertools.count(1)
        os.makedirs(cookie_folder, 0o700, exist_ok=True)
        for leftover in os.listdir(cookie_folder):
            os.unlink(os.path.join(cookie_folder, leftover))
        self._cookie_watch = self._add(self._cookie_folder, InotifyConstants.IN_CREATE)
        self.start()

    def attach(self, dirt: Dirt) -> "InotifyWatcher":
        """Watch a workspace; its folders follow as they are entered."""
        watcher = InotifyWatcher(self, dirt)
        self._watchers = self._watchers | {watcher}
        return watcher

    def detach(self, watcher: "InotifyWatcher") -> None:
        """Watch a workspace no more."""
        self._watchers = self._watchers - {watcher}

    def stop_reading(self) -> None:
        """End the thread and let the kernel drop all watches."""
        self.stop()
        self.join()

    def watch(self, descriptor: int, target: _Target) -> int:
        """Watch an open folder; through its descriptor, because its path may lead elsewhere by now."""
        number = self._add(b"/proc/self/fd/%d" % descriptor, _CHANGES)
        self._targets[number] = target
        return number

    def redirect(self, number: int, target: _Target) -> None:
        """Give a watch another target, if it is still there."""
        if number in self._targets:
            self._targets[number] = target

    def unwatch(self, number: int, target_folder: Path) -> None:
        """Drop a watch, unless it has been given to the folder's new path."""
        target = self._targets.get(number)
        if target is not None and target.folder == target_folder:
            del self._targets[number]
            inotify_rm_watch(self._inotify_fd, WatchDescriptor(number))

    def barrier(self, seconds: float) -> bool:
        """Everything the kernel has queued before this call has been marked when it returns True.

        A file made in a folder of our own is reported through the same queue, behind all that was there.
        """
        name = b"%d" % next(self._numbers)
        seen = self._cookies[name] = threading.Event()
        path = os.path.join(self._cookie_folder, name)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            os.unlink(path)
            return seen.wait(seconds)
        except OSError:
            return False
        finally:
            del self._cookies[name]

    def handle_event(self, event: InotifyEvent) -> None:
        """Called by the reading thread for every event."""
        if event.mask & InotifyConstants.IN_Q_OVERFLOW:
            for watcher in self._watchers:
                watcher.dirt.mark_everything(OVERFLOW)
            return
        if event.wd == self._cookie_watch:
            cookie = self._cookies.get(event.name)
            if cookie is not None:
                cookie.set()
            return
        target = self._targets.get(event.wd)
        if target is None:
            return
        if event.mask & InotifyConstants.IN_IGNORED:
            self._targets.pop(event.wd, None)
            return
        target.watcher.noticed(target, event)

    def _add(self, path: bytes, mask: int) -> int:
        number: int = inotify_add_watch(self._inotify_fd, path, mask)
        if number == -1:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return number


class InotifyWatcher:
    """The watches of one workspace."""

    kind = "inotify"

    def __init__(self, hub: InotifyHub, dirt: Dirt) -> None:
        self._hub = hub
        self.dirt = dirt
        self._numbers: dict[Path, int] = {}
        self._unwatched: dict[Path, str] = {}

    @property
    def unwatched(self) -> Mapping[Path, str]:
        """Folders that got no watch, with the reason."""
        return self._unwatched

    @property
    def watched(self) -> Set[Path]:
        """Folders that have a watch."""
        return self._numbers.keys()

    def enter(self, folder: Path, descriptor: int) -> None:
        """Add the watch, or renew it where the folder has been replaced; to be called before listing."""
        try:
            self._numbers[folder] = self._hub.watch(descriptor, _Target(self, folder))
            self._unwatched.pop(folder, None)
        except OSError as error:
            self._numbers.pop(folder, None)
            limit = LIMIT_REACHED.format(_twice_the_limit())
            self._unwatched[folder] = limit if error.errno == ENOSPC else str(error.strerror)

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """From now on, changes of what is excluded are not even hints."""
        number = self._numbers.get(folder)
        if number is not None:
            self._hub.redirect(number, _Target(self, folder, rules))

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """Drop the watches of folders that are captured no more."""
        if scope and scope not in self._numbers and scope not in self._unwatched:
            return  # no folder, or one that was never entered: then none below it was
        gone = [
            path for path in (*self._numbers, *self._unwatched) if _is_in(path, scope) and path not in entered
        ]
        for path in gone:
            self._unwatched.pop(path, None)
            number = self._numbers.pop(path, None)
            if number is not None:
                self._hub.unwatch(number, path)

    def barrier(self, seconds: float) -> bool:
        """Wait until everything that happened before is marked."""
        return self._hub.barrier(seconds)

    def close(self) -> None:
        """Drop all watches."""
        self.leave(b"", frozenset())
        self._hub.detach(self)

    def noticed(self, target: _Target, event: InotifyEvent) -> None:
        """An event of one of our watches; runs in the reading thread."""
        is_folder = bool(event.mask & InotifyConstants.IN_ISDIR)
        if not event.name:
            if not target.folder and event.mask & _SELF:
                self.dirt.mark_everything("the workspace's folder was moved, deleted or unmounted")
        elif target.rules is None or not target.rules.excludes(event.name, is_folder):
            path = join_path(target.folder, event.name)
            self.dirt.mark(path, is_new_folder=is_folder and bool(event.mask & _ARRIVED))


def _is_in(path: Path, scope: Path) -> bool:
    return not scope or path == scope or path.startswith(scope + b"/")


def _twice_the_limit() -> int:
    try:
        with open("/proc/sys/fs/inotify/max_user_watches", encoding="ascii") as file:
            return 2 * int(file.read())
    except (OSError, ValueError):
        return 1_048_576
