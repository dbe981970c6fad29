"""Everything the daemon does, for whoever asks: an embedding program, tests, and the socket server."""

import contextlib
import os
import shutil
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as NotYet
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from backtrail.errors import BacktrailError, RefusedWorkspace, StoreFailed
from backtrail.paths import Places
from backtrail.pathtext import to_text
from backtraild import guard
from backtraild.config import read_config
from backtraild.ignore import FolderRules
from backtraild.keeper import Keeper
from backtraild.model import Event
from backtraild.registry import Registered, Registry, workspace_id
from backtraild.requests import Requests
from backtraild.state import EventLog
from backtraild.status import StatusReader, WorkspaceStatus
from backtraild.suspend import SuspendWatch, seconds_asleep
from backtraild.watch import Hub
from backtraild.worker import Worker

_Answer = TypeVar("_Answer")


class UnknownWorkspace(BacktrailError):
    """No watched folder answers to that name."""

    code, exit_status = "unknown-workspace", 11


class Service(Requests):
    """The workers of all watched folders. Its methods may be called from any thread."""

    def __init__(
        self,
        places: Places,
        publish: Callable[[Event], None] = lambda _: None,
        asleep: Callable[[], float] = seconds_asleep,
    ) -> None:
        self._places = places
        places.make()
        self._defaults = read_config(places.config_file)
        self._registry = Registry(str(places.registry))
        self.log = EventLog(str(places.event_log), publish)
        try:
            self._hub = Hub(str(places.cookies))
        except OSError as error:
            self.log.close()
            raise StoreFailed(
                f"The kernel gives no way of watching folders: {error.strerror or error}.",
                "`sysctl fs.inotify.max_user_instances=1024` allows for more watching programs.",
            ) from error
        self._lock = threading.Lock()
        self._workers: dict[str, Worker] = {}
        self._readers: dict[str, StatusReader] = {}
        self._suspends = SuspendWatch(self._woken, asleep)

    def start(self) -> None:
        """Start watching what was watched before."""
        if self.log.set_aside is not None:
            reason = f"The log of events was damaged and begins anew; the old one is {self.log.set_aside}."
            self.log.append("error", "", "", data={"reason": reason})
        for entry in self._registry:
            self._employ(entry)
        self._suspends.start()

    def wait_until_caught_up(self, seconds: float | None = None) -> bool:
        """True when every workspace has been looked at, as far as it can be."""
        deadline = None if seconds is None else time.monotonic() + seconds
        for worker in list(self._workers.values()):
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                worker.first_look.exception(left)
            except (NotYet, CancelledError):
                return False
        return True

    def stop(self) -> None:
        """Save what is pending everywhere, then let go of everything."""
        self._suspends.stop()
        workers = list(self._workers.values())
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()
        self._hub.close()
        self.log.close()

    def watch(
        self, path: str, exclude_patterns: Sequence[str] = (), *, force: bool = False, wait: bool = True
    ) -> Registered:
        """Watch a folder from now on, and wait for its baseline; `force` lifts the size limits.

        If the baseline can't be taken, the folder is not watched and the reason is raised. Watching a folder
        again is harmless: it gets the patterns that are given now, and what is in its place is accepted.
        """
        own = [str(folder) for folder in (self._places.data, self._places.config, self._places.runtime)]
        root = guard.check_root(path, home=str(Path.home()), own_folders=own)
        patterns = (*self._defaults.exclude_patterns, *exclude_patterns)
        FolderRules.for_root(patterns)  # refuses what is no pattern
        with self._lock:
            known = self._registry.get(workspace_id(root))
            if known is not None and exclude_patterns and known.config.exclude_patterns != patterns:
                known = self._reconfigured(known, patterns)
            entry = known or self._added(root, patterns, force)
            worker = self._workers[entry.id]
        if known is not None:
            self._accept(worker)
        if wait:
            self._await_first_look(entry, worker, is_new=known is None)
        elif known is None:
            worker.first_look.add_done_callback(lambda look: self._judge(entry, look.exception()))
        return entry

    def unwatch(self, workspace: str, *, purge: bool = False) -> None:
        """Watch a folder no more; its checkpoints stay, unless they are purged."""
        entry = self._dismissed(workspace)
        try:
            if purge and self._places.store(entry.id).exists():
                shutil.rmtree(self._places.store(entry.id))
        except OSError as error:
            raise StoreFailed(f"Not all of the store could be deleted: {error}.") from error
        finally:
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
            to_text(os.fsencode(entry.root))
            for entry in self._registry
            if entry.root != root and (_contains(entry.root, root) or _contains(root, entry.root))
        ]

    def status(self, workspace: str) -> WorkspaceStatus:
        """How a workspace is doing; answered at once, whatever its worker is doing."""
        entry, reader = self._known(workspace), self._readers.get(workspace)
        if reader is None:
            raise _unknown(workspace)
        return reader.read(self.overlaps(entry.root))

    def pause(self, workspace: str, *, paused: bool) -> None:
        """Stop or go on making automatic checkpoints."""
        with self._lock:
            entry = self._known(workspace)
            self._registry.put(replace(entry, paused=paused))
            self._workers[workspace].pause(paused)

    def events(self, since: int, limit: int = 1000, workspace: str | None = None) -> list[Event]:
        """What has happened after an event, oldest first."""
        return self.log.since(since, limit, workspace)

    def ask(self, workspace: str, action: Callable[[Keeper], _Answer]) -> _Answer:
        """Do something with a workspace, in its worker, and wait for the answer."""
        return self.worker(workspace).ask(action).result()

    def worker(self, workspace: str) -> Worker:
        """The worker of a watched folder."""
        worker = self._workers.get(workspace)
        if worker is None:
            raise _unknown(workspace)
        return worker

    def _known(self, workspace: str) -> Registered:
        entry = self._registry.get(workspace)
        if entry is None:
            raise _unknown(workspace)
        return entry

    def _added(self, root: str, patterns: tuple[str, ...], force: bool) -> Registered:
        config = replace(self._defaults, exclude_patterns=patterns)
        entry = Registered(workspace_id(root), root, config, forced=force)
        self._registry.put(entry)
        try:
            self._tell("workspace_added", entry, {"overlaps": self.overlaps(root)})
        except BaseException:
            self._registry.remove(entry.id)
            raise
        self._employ(entry)
        return entry

    def _reconfigured(self, entry: Registered, patterns: tuple[str, ...]) -> Registered:
        """With other patterns, everything is looked at again."""
        entry = replace(entry, config=replace(entry.config, exclude_patterns=patterns))
        self._registry.put(entry)
        self._dismiss(self._workers[entry.id])
        self._employ(entry)
        return entry

    def _employ(self, entry: Registered) -> None:
        folder = str(self._places.store(entry.id))
        self._workers[entry.id] = Worker(entry, folder, self._hub, self.log)
        self._readers[entry.id] = StatusReader(entry, folder, self._workers[entry.id])

    def _dismissed(self, workspace: str) -> Registered:
        with self._lock:
            entry = self._known(workspace)
            self._registry.remove(entry.id)
            self._dismiss(self._workers[entry.id])
            del self._workers[entry.id], self._readers[entry.id]
        return entry

    @staticmethod
    def _dismiss(worker: Worker) -> None:
        worker.stop()
        worker.join()

    def _await_first_look(self, entry: Registered, worker: Worker, *, is_new: bool) -> None:
        try:
            worker.first_look.result()
        except BaseException:
            if is_new:
                self._forget(entry)  # nothing half-watched stays behind
            raise

    def _judge(self, entry: Registered, error: BaseException | None) -> None:
        """Nobody waits for this baseline: one that is refused is told as an event."""
        if isinstance(error, RefusedWorkspace):
            self._tell("error", entry, {"code": error.code, "reason": error.message, "hint": error.hint})
            # Not in the worker's own thread, which calls this and has to end first.
            threading.Thread(target=self._forget, args=(entry,), name=f"forget {entry.id}").start()

    def _forget(self, entry: Registered) -> None:
        with contextlib.suppress(BacktrailError):  # somebody else did it, or the service is stopping
            self.unwatch(entry.id, purge=not self._has_checkpoints(entry))

    def _has_checkpoints(self, entry: Registered) -> bool:
        refs = self._places.store(entry.id) / "repo.git" / "refs" / "checkpoints"
        packed = self._places.store(entry.id) / "repo.git" / "packed-refs"
        return packed.exists() or (refs.is_dir() and any(refs.iterdir()))

    @staticmethod
    def _accept(worker: Worker) -> None:
        """Whoever asks for a folder to be watched means the folder that is there."""
        if worker.health.reasons:
            worker.accept_root().result()
            worker.ask(lambda keeper: keeper.workspace.check_root()).result()

    def _tell(self, kind: str, entry: Registered, data: Mapping[str, Any]) -> None:
        self.log.append(kind, entry.id, to_text(os.fsencode(entry.root)), data=data)

    def _woken(self) -> None:
        for worker in list(self._workers.values()):
            worker.suspect_everything("the machine was suspended")


def _unknown(workspace: str) -> UnknownWorkspace:
    return UnknownWorkspace(f"No watched folder is called {workspace}.", "`backtrail workspaces` lists them.")


def _contains(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")
