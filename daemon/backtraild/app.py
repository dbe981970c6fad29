"""The daemon process: one per user, from taking the lock to the last checkpoint."""

import argparse
import contextlib
import fcntl
import gc
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Sequence
from typing import Self

from backtrail import __version__
from backtrail.errors import BacktrailError
from backtrail.paths import Places, places
from backtraild import logs, memory, notify
from backtraild.liveness import Liveness
from backtraild.model import Event
from backtraild.redaction import Redactor
from backtraild.server import Server, is_answering
from backtraild.service import Service
from backtraild.store import edits

# A thread that answers must not wait for one that captures: Python's own 5 ms add up over a request.
SWITCH_SECONDS = 0.0005
READY_CHECK_SECONDS = 0.2
LOOK_SECONDS = 5.0
# A daemon that takes longer to answer itself is taken for hung.
PING_SECONDS = 5.0
BUG = 70
FEW_FILES, MANY_FILES = 48, 65_536

_ENDING = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger("backtraild")


class TooFewFiles(BacktrailError):
    """The daemon may not open what it needs."""

    code = "too-few-files"


class AlreadyRunning(BacktrailError):
    """Another daemon works on the same data."""

    code = "already-running"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal ends it; the exit status."""
    options = _parser().parse_args(arguments)
    os.umask(0o077)
    sys.setswitchinterval(SWITCH_SECONDS)
    memory.give_back_large_pieces()
    gc.freeze()  # what was imported stays; each collection during the first look would go through all of it
    where = places()
    try:
        _allow_many_files()
        where.make()
        with _Lock(where) as lock:
            logs.set_up(where.log_file, verbose=options.verbose)
            return _run(where, lock, options.watch)
    except BacktrailError as error:
        sys.stderr.write(f"backtraild: {error.message}\n")
        if error.hint:
            sys.stderr.write(f"  {error.hint}\n")
        return error.exit_status
    except Exception:
        _log.exception("The daemon ends because of a bug or of a machine that fails it.")
        return BUG


def _run(where: Places, lock: "_Lock", folders: Sequence[str]) -> int:
    stopping = _set_by_signals()
    with Server(where) as server:
        service = Service(where, lambda event: _tell(event, server), server.progress)
        liveness = Liveness(lambda: is_answering(server.endpoints.requests, PING_SECONDS))
        try:
            service.start()
            server.open(service, stopping.set)
            notify.ready(f"Watching {len(service.workspaces())} folders.")
            liveness.start()
            _watch(service, folders, stopping)
            _await_end(stopping, lock)
        finally:
            notify.stopping()
            liveness.stop()
            server.refuse()
            service.stop()
    _log.info("stopped")
    return 0


def _watch(service: Service, folders: Sequence[str], stopping: threading.Event) -> None:
    """Watch these too, and say when everything has been looked at."""
    for folder in folders:
        service.watch(os.path.abspath(folder), wait=False)
    while not stopping.is_set() and not service.wait_until_caught_up(READY_CHECK_SECONDS):
        pass
    if not stopping.is_set():
        _log.info("ready: watching %d folders, process %d", len(service.workspaces()), os.getpid())
        load_the_rest()


def load_the_rest() -> None:
    """Load what a start does without, by using it once: the first save or session would have to wait for it."""
    edits(b"", b"\n")
    Redactor().text("")


def _await_end(stopping: threading.Event, lock: "_Lock") -> None:
    """Until somebody ends the daemon, or deletes its folders: no client would ever find it again."""
    trimmer = memory.Trimmer()
    while not stopping.wait(LOOK_SECONDS):
        trimmer.look()
        if not lock.is_on_disk():
            _log.warning("The daemon's folders were deleted; it ends.")
            return


def _allow_many_files() -> None:
    """Every connection and every folder that is being entered takes a descriptor; many systems begin with 1,024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MANY_FILES if hard == resource.RLIM_INFINITY else min(MANY_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):  # what there is must do
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < FEW_FILES:
        raise TooFewFiles(
            f"The daemon may have {wanted} files open at once, and needs {FEW_FILES} and some for each folder.",
            "Raise the limit, as with `ulimit -n 1024`.",
        )


def _set_by_signals() -> threading.Event:
    """An event that a signal sets. To be called before any other thread is started.

    A handler would run in the main thread only, and the kernel may hand the signal to another one while that
    sleeps. So the signals are blocked in all threads, and one thread does nothing but wait for them.
    """
    stopping = threading.Event()

    def wait() -> None:
        number = signal.sigwait(_ENDING)
        _log.info("stopping on %s", signal.Signals(number).name)
        stopping.set()

    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    threading.Thread(target=wait, name="signals", daemon=True).start()
    return stopping


class _Lock:
    """Held as long as the process lives, however it ends: the kernel lets go of it."""

    def __init__(self, where: Places) -> None:
        self._path = where.lock
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(self._descriptor, 32).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise AlreadyRunning(
                f"Another Backtrail daemon is running (process {owner or 'unknown'}).",
                "One is enough: it watches all folders. Stop it first if it shall be replaced.",
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, b"%d\n" % os.getpid())
        return self

    def is_on_disk(self) -> bool:
        """Is the file that is held the one that others would find?"""
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.stat(self._path), os.fstat(self._descriptor))
        return False

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)


def _tell(event: Event, server: Server) -> None:
    server.publish(event)
    what = event.data.get("message") or event.data.get("reason") or ""
    number = f" {event.checkpoint}" if event.checkpoint else ""
    _log.info("event %d: %s%s %s %s", event.seq, event.type, number, event.workspace, what)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="backtraild",
        description="Watch folders and keep every settled state of them.",
        epilog="Example: backtraild --watch ~/project. Ctrl-C or SIGTERM saves what is pending and ends it.",
    )
    parser.add_argument("--watch", action="append", default=[], metavar="PATH", help="also watch this folder")
    parser.add_argument("--verbose", action="store_true", help="log more")
    parser.add_argument("--version", action="version", version=f"backtraild {__version__}")
    return parser
