"""The daemon at work: from the first look to the last checkpoint."""

import contextlib
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence

from backtrail.errors import BacktrailError
from backtrail.paths import Places
from backtraild import logs, memory, notify
from backtraild.liveness import Liveness
from backtraild.lock import Lock
from backtraild.model import Event
from backtraild.redaction import Redactor
from backtraild.scouts.gathering import Scouts
from backtraild.scouts.party import Party
from backtraild.server import Server, is_answering
from backtraild.service import Service
from backtraild.store import edits

# New values before any are looked at for garbage; with Python's own 700, that is a twelfth of a restore of many files.
COLLECT_AFTER = 10_000
# A thread that answers must not wait for one that captures: Python's own 5 ms add up over a request.
SWITCH_SECONDS = 0.0005
READY_CHECK_SECONDS = 0.2
LOOK_SECONDS = 5.0
# Whoever asks as soon as everything has been looked at, as a command does that has started the daemon, is answered
# first: what is loaded after that keeps the interpreter busy for a tenth of a second.
CALM_SECONDS = 1.0
# A daemon that takes longer to answer itself is taken for hung.
PING_SECONDS = 5.0
BUG = 70

_ENDING = (signal.SIGTERM, signal.SIGINT)

_log = logging.getLogger("backtraild")


def run(
    where: Places, lock: Lock, party: Party | None, folders: Sequence[str] = (), *, verbose: bool = False
) -> int:
    """Run until a signal ends it; the exit status."""
    sys.setswitchinterval(SWITCH_SECONDS)
    memory.keep_little()
    gc.freeze()  # what was imported stays; each collection during the first look would go through all of it
    gc.set_threshold(COLLECT_AFTER)
    gc.enable()  # all is loaded
    logs.set_up(where.log_file, verbose=verbose)
    try:
        return _run(where, lock, folders, party)
    except BacktrailError:
        raise
    except Exception:
        _log.exception("The daemon ends because of a bug or of a machine that fails it.")
        return BUG


def _run(where: Places, lock: Lock, folders: Sequence[str], party: Party | None) -> int:
    stopping = _set_by_signals()
    with _awaited(party) as scouts, Server(where) as server:
        service = Service(where, lambda event: _tell(event, server), server.progress, scouts=scouts)
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


@contextlib.contextmanager
def _awaited(party: Party | None) -> Iterator[Scouts | None]:
    """The scouts, who are back at the end of the block, one way or another."""
    scouts = None if party is None else Scouts(party)
    try:
        yield scouts
    finally:
        if scouts is not None:
            scouts.call_back()


def _watch(service: Service, folders: Sequence[str], stopping: threading.Event) -> None:
    """Watch these too, and say when everything has been looked at."""
    for folder in folders:
        service.watch(os.path.abspath(folder), wait=False)
    while not stopping.is_set() and not service.wait_until_caught_up(READY_CHECK_SECONDS):
        pass
    if not stopping.is_set():
        _log.info("ready: watching %d folders, process %d", len(service.workspaces()), os.getpid())
    if not stopping.wait(CALM_SECONDS):
        load_the_rest()


def load_the_rest() -> None:
    """Load what a start does without, by using it once: the first save or session would have to wait for it."""
    edits(b"", b"\n")
    Redactor().text("")


def _await_end(stopping: threading.Event, lock: Lock) -> None:
    """Until somebody ends the daemon, or deletes its folders: no client would ever find it again."""
    trimmer = memory.Trimmer()
    while not stopping.wait(LOOK_SECONDS):
        trimmer.look()
        if not lock.is_on_disk():
            _log.warning("The daemon's folders were deleted; it ends.")
            return


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


def _tell(event: Event, server: Server) -> None:
    server.publish(event)
    what = event.data.get("message") or event.data.get("reason") or ""
    number = f" {event.checkpoint}" if event.checkpoint else ""
    _log.info("event %d: %s%s %s %s", event.seq, event.type, number, event.workspace, what)
