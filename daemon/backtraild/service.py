"""Everything the daemon does, for whoever asks: an embedding program, tests, and the socket server."""

import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from backtrail.errors import BacktrailError
from backtrail.paths import Places
from backtrail.pathtext import to_text
from backtraild import guard
from backtraild.config import read_config
from backtraild.ignore import FolderRules
from backtraild.keeper import Keeper
from backtraild.model import Event
from backtraild.registry import Registered, Registry, workspace_id
from backtraild.state import EventLog
from backtraild.watch import Hub
from backtraild.worker import Worker

SUSPEND_CHECK_SECONDS = 30.0
SUSPENDED_SECONDS = 5.0

_Answer = TypeVar("_Answer")


class UnknownWorkspace(BacktrailError):
    """No watched folder answers to that name."""

    code, exit_status = "unknown-workspace", 11


class Service:
    """The workers of all watched folders. Its methods may be called from any thread."""

    def __init__(self, places: Places, publish: Callable[[Event], None] = lambda _: None) -> None:
        self._places = places
        places.make()
        self._defaults = read_config(places.config_file)
        self._registry = Registry(str(places.registry))
        self.events = EventLog(str(places.event_log), publish)
        self._hub = Hub(str(places.cookies))
        self._lock = threading.Lock()
        self._workers: dict[str, Worker] = {}
        self._stopped = threading.Event()
        self._waking = threading.Thread(target=self._notice_suspends, name="suspend watch", daemon=True)

    def start(self) -> None:
        """Start watching what was watched before."""
        for entry in self._registry:
            self._workers[entry.id] = self._worker(entry)
        self._waking.start()

    def wait_until_caught_up(self, seconds: float | None = None) -> bool:
        """True when every workspace that can be opened has been looked at."""
        deadline = None if seconds is None else time.monotonic() + seconds
        for worker in list(self._workers.values()):
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not worker.caught_up.wait(left):
                return False
        return True

    def stop(self) -> None:
        """Save what is pending everywhere, then let go of everything."""
        self._stopped.set()
        workers = list(self._workers.values())
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()
        self._hub.close()
        self.events.close()

    def watch(self, path: str, exclude_patterns: Sequence[str] = (), *, force: bool = False) -> Registered:
        """Watch a folder from now on. Harmless if it is watched already; `force` lifts the size limits."""
        own = [str(folder) for folder in (self._places.data, self._places.config, self._places.runtime)]
        root = guard.check_root(path, home=str(Path.home()), own_folders=own)
        patterns = (*self._defaults.exclude_patterns, *exclude_patterns)
        FolderRules.for_root(patterns)  # refuses what is no pattern
        with self._lock:
            known = self._registry.get(workspace_id(root))
            if known is not None:
                return known
            entry = Registered(workspace_id(root), root, replace(self._defaults, exclude_patterns=patterns))
            self._registry.put(entry)
            self._tell("workspace_added", entry, {"overlaps": self.overlaps(root)})
            self._workers[entry.id] = self._worker(entry, force=force)
        return entry

    def unwatch(self, workspace: str, *, purge: bool = False) -> None:
        """Watch a folder no more; its checkpoints stay, unless they are purged."""
        with self._lock:
            entry = self._known(workspace)
            self._registry.remove(entry.id)
            worker = self._workers.pop(entry.id)
        worker.stop()
        worker.join()
        if purge:
            shutil.rmtree(self._places.store(entry.id), ignore_errors=True)
        self._tell("workspace_removed", entry, {"purged": purge})

    def workspaces(self) -> list[Registered]:
        """What is watched."""
        return list(self._registry)

    def find(self, path: str) -> Registered:
        """The innermost watched folder that contains a path."""
        real = os.path.realpath(path)
        around = [entry for entry in self._registry if _contains(entry.root, real)]
        if not around:
            raise UnknownWorkspace(
                f"{path} is not in a watched folder.", "`backtrail watch` starts watching the current one."
            )
        return max(around, key=lambda entry: len(entry.root))

    def overlaps(self, root: str) -> list[str]:
        """Watched folders inside or around a folder: their files are captured in both."""
        return [
            entry.root
            for entry in self._registry
            if entry.root != root and (_contains(entry.root, root) or _contains(root, entry.root))
        ]

    def pause(self, workspace: str, *, paused: bool) -> None:
        """Stop or go on making automatic checkpoints."""
        with self._lock:
            entry = self._known(workspace)
            self._registry.put(replace(entry, paused=paused))
            self._workers[workspace].pause(paused)

    def ask(self, workspace: str, action: Callable[[Keeper], _Answer]) -> _Answer:
        """Do something with a workspace, in its worker, and wait for the answer."""
        return self.worker(workspace).ask(action).result()

    def worker(self, workspace: str) -> Worker:
        """The worker of a watched folder."""
        return self._workers[self._known(workspace).id]

    def _known(self, workspace: str) -> Registered:
        entry = self._registry.get(workspace)
        if entry is None:
            raise UnknownWorkspace(
                f"No watched folder is called {workspace}.", "`backtrail workspaces` lists them."
            )
        return entry

    def _worker(self, entry: Registered, *, force: bool = False) -> Worker:
        return Worker(entry, str(self._places.store(entry.id)), self._hub, self.events, force=force)

    def _tell(self, kind: str, entry: Registered, data: Mapping[str, Any]) -> None:
        self.events.append(kind, entry.id, to_text(os.fsencode(entry.root)), data=data)

    def _notice_suspends(self) -> None:
        """While a machine sleeps, others may change its disks: look at everything when it wakes."""
        asleep = _seconds_asleep()
        while not self._stopped.wait(SUSPEND_CHECK_SECONDS):
            before, asleep = asleep, _seconds_asleep()
            if asleep - before > SUSPENDED_SECONDS:
                for worker in list(self._workers.values()):
                    worker.suspect_everything("the machine was suspended")


def _contains(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _seconds_asleep() -> float:
    """How long this machine has been suspended since it started; 0 where the system does not say."""
    boot_time = getattr(time, "CLOCK_BOOTTIME", None)
    return time.clock_gettime(boot_time) - time.monotonic() if boot_time is not None else 0.0
