"""Linux: one inotify descriptor for all workspaces, one watch per captured folder, none in excluded ones.

Whoever reads events only translates and marks. Watches are added and removed by the workers, as they enter
folders and find others gone. A folder that was moved keeps its watch under its old path until a worker
enters it at the new one; what is reported under the old path until then is only a hint too many, because
the worker lists the folder after its watch has the new path.
"""

import contextlib
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
    WatchDescriptor,
    inotify_add_watch,
    inotify_rm_watch,
)

from backtraild.ignore import IGNORE_FILES, FolderRules
from backtraild.model import Path, join_path
from backtraild.watch.branches import Branches
from backtraild.watch.dirt import OVERFLOW, Dirt
from backtraild.watch.kernelqueue import KernelQueue

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

LIMIT_REACHED = (
    "the limit of inotify watches is reached; `sudo sysctl fs.inotify.max_user_watches={}` raises it"
)


class _Target(NamedTuple):
    watcher: "InotifyWatcher"
    folder: Path
    rules: FolderRules | None = None  # not known until the folder has been listed: everything counts


class InotifyHub(KernelQueue):
    """The descriptor and the thread that reads it."""

    def __init__(self, cookie_folder: str) -> None:
        super().__init__()
        os.set_inheritable(self._inotify_fd, False)
        self.name = "inotify reader"
        # The kernel gives a folder one watch, also where it lies in two workspaces: hence several targets.
        self._targets: dict[int, tuple[_Target, ...]] = {}
        self._changing = threading.Lock()  # of the targets together with the kernel's table
        self._watchers: frozenset[InotifyWatcher] = frozenset()
        self._cookie_folder = os.fsencode(cookie_folder)
        self._cookie_watch: int | None = None
        self._cookies: dict[bytes, threading.Event] = {}
        self._numbers = itertools.count(1)
        with contextlib.suppress(OSError):  # left for the next start, as on a disk that is full
            for leftover in os.listdir(cookie_folder):
                os.unlink(os.path.join(cookie_folder, leftover))
        self.start()

    def attach(self, dirt: Dirt) -> "InotifyWatcher":
        """Watch a workspace; its folders follow as they are entered."""
        watcher = InotifyWatcher(self, dirt)
        with self._changing:
            self._watchers |= {watcher}
        return watcher

    def detach(self, watcher: "InotifyWatcher") -> None:
        """Watch a workspace no more."""
        with self._changing:
            self._watchers -= {watcher}

    def stop_reading(self) -> None:
        """End the thread and let the kernel drop all watches."""
        self.stop()
        self.join()

    def watch(self, descriptor: int, target: _Target) -> int:
        """Watch an open folder; through its descriptor, because its path may lead elsewhere by now."""
        with self._changing:
            number = self._add(b"/proc/self/fd/%d" % descriptor, _CHANGES)
            self._aim(number, target)
        return number

    def redirect(self, number: int, target: _Target) -> None:
        """Give a watch another target, if it is still there."""
        with self._changing:
            if number in self._targets:
                self._aim(number, target)

    def unwatch(self, number: int, watcher: "InotifyWatcher", folder: Path) -> None:
        """Drop a watch, unless it has been given to the folder's new path or serves another workspace."""
        with self._changing:
            targets = self._targets.get(number, ())
            if not any(target.watcher is watcher and target.folder == folder for target in targets):
                return
            others = self._others(number, watcher)
            if others:
                self._targets[number] = others
            else:
                del self._targets[number]
                inotify_rm_watch(self._inotify_fd, WatchDescriptor(number))

    def echo(self, seconds: float) -> bool:
        """Does an event of our own come back? An OSError where none can be caused, at least for now."""
        name = b"%d" % next(self._numbers)
        seen = self._cookies[name] = threading.Event()
        path = os.path.join(self._cookie_folder, name)
        try:
            self.watch_cookies()
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
            with contextlib.suppress(OSError):  # it was seen to be made, and goes at the next start
                os.unlink(path)
            return seen.wait(seconds)
        finally:
            del self._cookies[name]

    def watch_cookies(self) -> None:
        """Watch our own folder; an OSError where the kernel gives no watch for it, at least for now."""
        with self._changing:
            if self._cookie_watch is None:
                os.makedirs(self._cookie_folder, 0o700, exist_ok=True)
                self._cookie_watch = self._add(self._cookie_folder, InotifyConstants.IN_CREATE)

    def handle_event(self, event: InotifyEvent) -> None:
        """Called for every event, by whoever reads it."""
        if event.mask & InotifyConstants.IN_Q_OVERFLOW:
            self.lost(OVERFLOW)
        elif event.wd == self._cookie_watch:
            self._noticed_cookie(event)
        elif event.mask & InotifyConstants.IN_IGNORED:
            with self._changing:
                self._targets.pop(event.wd, None)
        else:
            for target in self._targets.get(event.wd, ()):
                target.watcher.noticed(target, event)

    def _noticed_cookie(self, event: InotifyEvent) -> None:
        if event.mask & InotifyConstants.IN_IGNORED:
            self._cookie_watch = None  # the folder was removed: a barrier makes it again
        cookie = self._cookies.get(event.name)
        if cookie is not None:
            cookie.set()

    def lost(self, reason: str) -> None:
        """Any change may have been missed."""
        for watcher in self._watchers:
            watcher.dirt.mark_everything(reason)
        for cookie in list(self._cookies.values()):
            cookie.set()

    def _aim(self, number: int, target: _Target) -> None:
        before = self._targets.get(number, ())
        is_alone = not before or (len(before) == 1 and before[0].watcher is target.watcher)
        self._targets[number] = (target,) if is_alone else (*self._others(number, target.watcher), target)

    def _others(self, number: int, watcher: "InotifyWatcher") -> tuple[_Target, ...]:
        return tuple(target for target in self._targets.get(number, ()) if target.watcher is not watcher)

    def _add(self, path: bytes, mask: int) -> int:
        number: int = inotify_add_watch(self._inotify_fd, path, mask)
        if number == -1:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return number


class InotifyWatcher:
    """The watches of one workspace. Only `noticed` runs in any thread, the rest in the worker."""

    kind = "inotify"

    def __init__(self, hub: InotifyHub, dirt: Dirt) -> None:
        self._hub = hub
        self.dirt = dirt
        self._numbers: dict[Path, int] = {}
        self._unwatched: dict[Path, str] = {}
        self._known = Branches()

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
        self._known.add(folder)
        before = self._numbers.get(folder)
        try:
            number = self._hub.watch(descriptor, _Target(self, folder))
        except OSError as error:
            limit = LIMIT_REACHED.format(_twice_the_limit())
            self.shut_out(folder, limit if error.errno == ENOSPC else str(error.strerror))
            return
        self._numbers[folder] = number
        self._unwatched.pop(folder, None)
        if before is not None and before != number:
            self._hub.unwatch(before, self, folder)  # of the folder that was here before

    def shut_out(self, folder: Path, reason: str) -> None:
        """A captured folder can't be entered, or not be watched."""
        self._known.add(folder)
        self._unwatched[folder] = reason
        self._drop(folder)

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """From now on, changes of what is excluded are not even hints."""
        number = self._numbers.get(folder)
        if number is not None:
            self._hub.redirect(number, _Target(self, folder, rules))

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """Drop the watches of folders that are captured no more."""
        for path in self._known.below(scope):
            if path not in entered:
                self._unwatched.pop(path, None)
                self._drop(path)
                self._known.remove(path)

    def barrier(self, seconds: float) -> bool:
        """Wait until everything that happened before is marked."""
        return self._hub.barrier(seconds)

    def close(self) -> None:
        """Drop all watches."""
        self.leave(b"", frozenset())
        self._hub.detach(self)

    def noticed(self, target: _Target, event: InotifyEvent) -> None:
        """An event of one of our watches; runs in the thread that read it."""
        is_folder = bool(event.mask & InotifyConstants.IN_ISDIR)
        if not event.name:
            self._noticed_itself(target.folder, event)
        elif (
            target.rules is None
            or event.name in IGNORE_FILES  # they count even where they exclude themselves
            or not target.rules.excludes(event.name, is_folder)
        ):
            path = join_path(target.folder, event.name)
            self.dirt.mark(path, is_new_folder=is_folder and bool(event.mask & _ARRIVED))

    def _noticed_itself(self, folder: Path, event: InotifyEvent) -> None:
        """An event of the folder as such; where its parent is watched too, that one has told the most of it."""
        if not folder and event.mask & _SELF:
            self.dirt.mark_everything("the workspace's folder was moved, deleted or unmounted")
        elif event.mask & InotifyConstants.IN_UNMOUNT:
            self.dirt.mark(folder, is_new_folder=True)  # what lay under the mount is to be watched now

    def _drop(self, folder: Path) -> None:
        number = self._numbers.pop(folder, None)
        if number is not None:
            self._hub.unwatch(number, self, folder)


def _twice_the_limit() -> int:
    try:
        with open("/proc/sys/fs/inotify/max_user_watches", encoding="ascii") as file:
            return 2 * int(file.read())
    except (OSError, ValueError):
        return 1_048_576
