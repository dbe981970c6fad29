"""The workers of all watched folders: employed, asked, set up anew and dismissed."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as NotYet
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from backtrail.errors import BacktrailError, DaemonStopping, RefusedWorkspace, StoreFailed, UnknownWorkspace
from backtrail.paths import Places
from backtrail.pathtext import to_text
from backtraild import stores
from backtraild.admission import Admission
from backtraild.asking import Asking
from backtraild.config import read_redaction
from backtraild.housekeeping import Gate
from backtraild.meter import Meter
from backtraild.model import Event, Job, Progress, WorkspaceConfig
from backtraild.redaction import Redactor
from backtraild.registry import Registered, Registry, workspace_id
from backtraild.requests import Action
from backtraild.scouts.gathering import Scouts
from backtraild.state import EventLog
from backtraild.status import StatusReader, WorkspaceStatus
from backtraild.suspend import SuspendWatch, seconds_asleep
from backtraild.turns import Turns
from backtraild.watch import Hub
from backtraild.worker import Worker

_Answer = TypeVar("_Answer")


class Roster(Asking):
    """Which folders are watched, and by which worker. Its methods may be called from any thread."""

    def __init__(
        self,
        places: Places,
        publish: Callable[[Event], None] = lambda _: None,
        progress: Callable[[Progress], None] = lambda _: None,
        asleep: Callable[[], float] = seconds_asleep,
        scouts: Scouts | None = None,
    ) -> None:
        self._places = places
        self._progress = progress
        places.make()
        redaction = read_redaction(places.config_file)
        self._redactor = Redactor(redaction.patterns, redaction.enabled)
        self._registry = Registry(str(places.registry), str(places.store("")))
        self._admission = Admission(places, self._registry)
        self.log = EventLog(str(places.event_log), publish)
        try:
            self._hub = Hub(str(places.cookies), scouts)
        except OSError as error:
            self.log.close()
            raise StoreFailed(
                f"The kernel gives no way of watching folders: {error.strerror or error}.",
                "`sysctl fs.inotify.max_user_instances=1024` allows for more watching programs.",
            ) from error
        self._lock = threading.Lock()  # held for moments only
        self._gate = Gate()
        self._turns = Turns()  # adding, changing and removing a workspace may take long
        self._workers: dict[str, Worker] = {}
        self._readers: dict[str, StatusReader] = {}
        self._suspends = SuspendWatch(self._woken, asleep)

    def start(self) -> None:
        """Start watching what was watched before."""
        if self.log.set_aside is not None:
            reason = f"The log of events was damaged and begins anew; the old one is {self.log.set_aside}."
            self.log.append("error", "", "", data={"reason": reason})
        if self._registry.rebuilt is not None:
            self.log.append("error", "", "", data={"reason": self._registry.rebuilt})
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
        self._turns.close()
        workers = list(self._workers.values())
        for worker in workers:
            worker.stop()
        for worker in workers:
            worker.join()
        self._hub.close()
        self.log.close()

    def watch(
        self,
        path: str,
        settings: Mapping[str, object] | None = None,
        *,
        force: bool = False,
        wait: bool = True,
        store: str | None = None,
        job: Job = None,
    ) -> Registered:
        """Watch a folder from now on, and wait for its baseline; `force` lifts the size limits.

        Settings have the names of the configuration file. `store` is the folder in which its checkpoints
        shall lie. If the baseline can't be taken, the folder is not watched and the reason is raised. Watching
        a folder again is harmless: settings that are given hold now, and what is in its place is accepted.
        """
        root = self._admission.root(path)
        with self._turns.of(workspace_id(root)):
            known = self._registry.get(workspace_id(root))
            if known is None:
                new = self._admission.new(root, settings or {}, force=force, store=store)
                entry = self._added(new, job)
            else:
                config = self._admission.again(known, settings or {}, store=store)
                entry = known if config == known.config else self._reconfigured(known.id, config, job)
            worker = self._workers[entry.id]
        if known is not None:
            self._accept(worker)
        if wait:
            self._await_first_look(entry, worker, is_new=known is None)
        elif known is None:
            worker.first_look.add_done_callback(lambda look: self._judge(entry, look.exception()))
        return entry

    @contextlib.contextmanager
    def watched_anew(
        self, path: str, like: Registered, fill: Callable[[Meter], None], *, job: Job = None
    ) -> Iterator[Registered]:
        """Fill a folder and watch it from now on, configured like another; if the block fails, no more."""
        root = self._admission.root(path)
        with self._turns.of(workspace_id(root)):
            new = replace(self._admission.new(root, {}, force=True, store=None), config=like.config)
            if self._registry.get(new.id) is not None:
                raise RefusedWorkspace(f"The folder {root!r} is watched already.", "Choose another one.")
            is_known = stores.has_checkpoints(stores.folder_of(self._places, new))
            meter = Meter(new.id, to_text(os.fsencode(root)), self._progress)
            with meter.on_behalf_of(job):
                fill(meter)
            self._added(new, job)
            worker = self._workers[new.id]
        self._await_first_look(new, worker, is_new=True)
        try:
            yield new
        except BaseException:
            with contextlib.suppress(BacktrailError):  # somebody else did it
                self._abandon(new.id, purge=not is_known)
            raise

    def unwatch(self, workspace: str, *, purge: bool = False) -> None:
        """Watch a folder no more; its checkpoints stay, unless they are purged."""
        with self._turns.of(workspace):
            self._let_go(workspace, purge)

    def workspaces(self) -> list[Registered]:
        """What is watched."""
        return list(self._registry)

    def entry(self, workspace: str) -> Registered:
        """A watched folder by its id."""
        entry = self._registry.get(workspace)
        if entry is None:
            raise _unknown(workspace)
        return entry

    def find(self, path: str) -> Registered:
        """The innermost watched folder that contains a path."""
        entry = self._registry.around(os.path.realpath(path))
        if entry is None:
            raise UnknownWorkspace(
                f"{path} is not in a watched folder.", "`backtrail watch` starts watching the current one."
            )
        return entry

    def overlaps(self, root: str) -> list[str]:
        """Watched folders inside or around a folder: their files are captured in both."""
        return [to_text(os.fsencode(other)) for other in self._registry.overlapping(root)]

    def store(self, workspace: str) -> Path:
        """The folder in which the checkpoints of a workspace lie."""
        return stores.folder_of(self._places, self.entry(workspace))

    def status(self, workspace: str) -> WorkspaceStatus:
        """How a workspace is doing; answered at once, whatever its worker is doing."""
        entry, reader = self.entry(workspace), self._readers.get(workspace)
        if reader is None:
            raise _unknown(workspace)
        return reader.read(self.overlaps(entry.root), self._registry.rebuilt)

    def pause(self, workspace: str, *, paused: bool) -> None:
        """Stop or go on making automatic checkpoints."""
        with self._lock:
            entry = self.entry(workspace)
            self._registry.put(replace(entry, paused=paused))
            self._workers[workspace].pause(paused)

    def submit(self, workspace: str, action: Action[_Answer], *, job: Job = None) -> "Future[_Answer]":
        """Let a workspace's worker do something; the answer comes when it comes. Progress carries the job."""
        return self.worker(workspace).ask(action, job)

    def worker(self, workspace: str) -> Worker:
        """The worker of a watched folder."""
        worker = self._workers.get(workspace)
        if worker is None:
            raise _unknown(workspace)
        return worker

    def _added(self, entry: Registered, job: Job) -> Registered:
        stores.prepare(entry, stores.folder_of(self._places, entry))
        with self._lock:
            self._registry.put(entry)
            try:
                self._tell("workspace_added", entry, {"overlaps": self.overlaps(entry.root)})
                self._employ(entry, job)
            except BaseException:
                self._registry.take_back(entry.id)
                raise
        return entry

    def _reconfigured(self, workspace: str, config: WorkspaceConfig, job: Job) -> Registered:
        """With other settings, another worker looks at everything again."""
        with self._lock:
            self._registry.put(replace(self.entry(workspace), config=config))
        _dismiss(self._workers[workspace])
        self._workers[workspace].health.begin_anew()
        with self._lock:
            entry = self.entry(workspace)  # it may have been paused meanwhile
            self._employ(entry, job)
        return entry

    def _employ(self, entry: Registered, job: Job = None) -> None:
        folder = str(stores.folder_of(self._places, entry))
        try:
            self._workers[entry.id] = Worker(
                entry, folder, self._hub, self.log, self._progress, self._redactor, self._gate, job
            )
        except (
            RuntimeError,
            MemoryError,
        ) as error:  # how Python says that the system allows no further thread
            raise StoreFailed(
                f"The folder {entry.root!r} can't be watched: {error or 'there is no memory left'}.",
                "Look at the limits for processes and memory, then try again.",
            ) from error
        self._readers[entry.id] = StatusReader(entry, folder, self._workers[entry.id])

    def _taken_out(self, workspace: str) -> tuple[Registered, Worker]:
        with self._lock:
            entry = self.entry(workspace)
            self._registry.hide(entry.id)
            del self._readers[entry.id]
            return entry, self._workers.pop(entry.id)

    def _let_go(self, workspace: str, purge: bool) -> None:
        entry, worker = self._taken_out(workspace)
        # Its last save may take long. The others go on meanwhile, and whoever watches it again waits.
        _dismiss(worker)
        self._strike_out(entry)
        try:
            if purge:
                stores.purge(self._places, entry)
        finally:
            self._tell("workspace_removed", entry, {"purged": purge})

    def _strike_out(self, entry: Registered) -> None:
        """Not before its store is settled: nobody opens it again to complete what a power cut leaves of a save."""
        with self._lock:
            try:
                self._registry.remove(entry.id)
            except BaseException:
                self._registry.show(entry.id)
                self._employ(entry)
                raise

    def _abandon(self, workspace: str, purge: bool) -> None:
        """Unwatch what should not have been watched, also while the service stops and nobody begins anything."""
        try:
            self.unwatch(workspace, purge=purge)
        except DaemonStopping:
            self._let_go(workspace, purge)

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
            self.unwatch(entry.id, purge=not stores.has_checkpoints(stores.folder_of(self._places, entry)))

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


def _dismiss(worker: Worker) -> None:
    worker.stop()
    worker.join()
