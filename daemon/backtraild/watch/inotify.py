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

from watchdog.observers.inotify_c import (
    InotifyConstants,
    InotifyEvent,
    WatchDescriptor,
    inotify_add_watch,
    inotify_rm_watch,
)

from backtraild.ignore import IGNORE_FILES, FolderRules, RulesOf
from backtraild.model import Path, join_path
from backtraild.scouts.gathering import Scouts
from backtraild.scouts.kernel import CHANGES
from backtraild.watch.branches import Branches
from backtraild.watch.dirt import OVERFLOW, Dirt
from backtraild.watch.kernelqueue import KernelQueue
from backtraild.watch.targets import Target, Targets

_SELF = InotifyConstants.IN_DELETE_SELF | InotifyConstants.IN_MOVE_SELF | InotifyConstants.IN_UNMOUNT
_ARRIVED = InotifyConstants.IN_CREATE | InotifyConstants.IN_MOVED_TO

# Events that wait for scouts to tell where they happened; beyond, a look at everything is cheaper.
MOST_EARLY = 20_000
LIMIT_REACHED = (
    "the limit of inotify watches is reached; `sudo sysctl fs.inotify.max_user_watches={}` raises it"
)


class InotifyHub(KernelQueue):
    """The descriptor and the thread that reads it."""

    def __init__(self, cookie_folder: str, scouts: Scouts | None = None) -> None:
        super().__init__(None if scouts is None else scouts.queue)
        self.name = "inotify reader"
        self._targets = Targets()
        self._changing = threading.Lock()  # of the targets together with the kernel's table
        self._watchers: frozenset[InotifyWatcher] = frozenset()
        self._scouts = scouts
        self._early: list[InotifyEvent] = []  # of watches that scouts have added and not told of yet
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

    def watch(self, descriptor: int, target: Target) -> int:
        """Watch an open folder; through its descriptor, because its path may lead elsewhere by now."""
        with self._changing:
            number = self._add(b"/proc/self/fd/%d" % descriptor, CHANGES)
            self._targets.aim(number, target)
        return number

    def adopt(self, watcher: "InotifyWatcher", numbers: Mapping[Path, int], rules_of: RulesOf) -> None:
        """Watches that scouts have added; what was noticed in them until now is told now."""
        with self._changing:
            self._targets.adopt(watcher, numbers, rules_of)
            early, self._early = self._early, []
        for event in early:
            self.handle_event(event)

    def redirect(self, number: int, target: Target) -> None:
        """Give a watch another target, if it is still there."""
        with self._changing:
            if self._targets.of(number):
                self._targets.aim(number, target)

    def rules(self, number: int, watcher: "InotifyWatcher", folder: Path) -> FolderRules | None:
        """Those that hold in a folder of a workspace, as far as its watch knows them."""
        with self._changing:
            targets = self._targets.of(number)
        found = [target.rules for target in targets if target.watcher is watcher and target.folder == folder]
        return found[0] if found else None

    def unwatch(self, number: int, watcher: "InotifyWatcher", folder: Path) -> None:
        """Drop a watch, unless it has been given to the folder's new path or serves another workspace."""
        with self._changing:
            if self._targets.release(number, watcher, folder):
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
        else:
            for target in self._targets_of(event):
                target.watcher.noticed(target, event)

    def _targets_of(self, event: InotifyEvent) -> tuple[Target, ...]:
        with self._changing:
            targets = self._targets.of(event.wd)
            if targets and event.mask & InotifyConstants.IN_IGNORED:
                self._targets.forget(event.wd)
                return ()
            if targets or self._scouts is None:
                return targets
            if not self._scouts.are_expected():
                self._early = []
                return ()
            self._early.append(event)  # the watch may be one that scouts have added
            if len(self._early) <= MOST_EARLY:
                return ()
            self._early = []
        self.lost("too much changed during the start")
        return ()

    def _noticed_cookie(self, event: InotifyEvent) -> None:
        if event.mask & InotifyConstants.IN_IGNORED:
            self._cookie_watch = None  # the folder was removed: a barrier makes it again
        cookie = self._cookies.get(event.name)
        if cookie is not None:
            cookie.set()

    def lost(self, reason: str) -> None:
        """Any change may have been missed."""
        if self._scouts is not None:
            self._scouts.distrust()
        for watcher in self._watchers:
            watcher.dirt.mark_everything(reason)
        for cookie in list(self._cookies.values()):
            cookie.set()

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
            number = self._hub.watch(descriptor, Target(self, folder))
        except OSError as error:
            limit = LIMIT_REACHED.format(_twice_the_limit())
            self.shut_out(folder, limit if error.errno == ENOSPC else str(error.strerror))
            return
        self._numbers[folder] = number
        self._unwatched.pop(folder, None)
        if before is not None and before != number:
            self._hub.unwatch(before, self, folder)  # of the folder that was here before

    def adopt(self, numbers: Mapping[Path, int], rules_of: RulesOf) -> None:
        """Folders that scouts have given watches to."""
        self._numbers.update(numbers)
        self._known.adopt(numbers)
        self._hub.adopt(self, numbers, rules_of)

    def shut_out(self, folder: Path, reason: str) -> None:
        """A captured folder can't be entered, or not be watched."""
        self._known.add(folder)
        self._unwatched[folder] = reason
        self._drop(folder)

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """From now on, changes of what is excluded are not even hints."""
        number = self._numbers.get(folder)
        if number is not None:
            self._hub.redirect(number, Target(self, folder, rules))

    def rules(self, folder: Path) -> FolderRules | None:
        """A change of an ignore file is told like any other, and makes its folder dirty with all below it."""
        number = self._numbers.get(folder)
        return None if number is None else self._hub.rules(number, self, folder)

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

    def noticed(self, target: Target, event: InotifyEvent) -> None:
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
        """An event of the folder as such. The watch of its parent tells the same, unless it was added later."""
        if not folder and event.mask & _SELF:
            self.dirt.mark_everything("the workspace's folder was moved, deleted or unmounted")
        elif event.mask & InotifyConstants.IN_UNMOUNT:
            self.dirt.mark(folder, is_new_folder=True)  # what lay under the mount is to be watched now
        elif event.mask & _SELF:
            self.dirt.mark(folder)

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
