"""The processes of one store's upkeep, seen from the daemon: started, awaited, ended."""

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Sequence

import msgspec

from backtraild import children
from backtraild.store import Swept, Tidied, UpkeepFailed, Weighed, discard_upkeep
from backtraild.upkeep.orders import Order, Sweep, Tidy, Weigh

Outcome = Weighed | Tidied | Swept | UpkeepFailed

_OUTCOMES: dict[type[Order], type[Weighed | Tidied | Swept]] = {Weigh: Weighed, Tidy: Tidied, Sweep: Swept}
_TOLD = 2000  # bytes of what a failed process said


class Upkeep:
    """Starts and awaits the processes of one store, one at a time. Used by the store's thread."""

    def __init__(self, git_dir: str, wake: Callable[[], None]) -> None:
        """`wake` is called, in another thread, when there is something to `take`."""
        self._git_dir = git_dir
        self._wake = wake
        self._run: _Run | None = None

    @property
    def running(self) -> bool:
        """Has something been started whose outcome nobody has taken?"""
        return self._run is not None

    def weigh(self, order: Sequence[int]) -> None:
        """Begin to find out how many bytes the store needs if the first of these checkpoints are kept."""
        self._start(Weigh(self._git_dir, tuple(order)))

    def tidy(self, packs: Sequence[str], room: int, urgent: bool) -> None:
        """Begin to merge the packs that `Store.begin_upkeep` named, with copies of no more than `room` bytes."""
        self._start(Tidy(self._git_dir, tuple(packs), room, urgent))

    def sweep(self) -> None:
        """Begin to remove what `Store.end_upkeep` put aside."""
        self._start(Sweep(self._git_dir))

    def take(self) -> Outcome | None:
        """What came of it, once; None while it runs, or when nothing does."""
        if self._run is None or self._run.outcome is None:
            return None
        outcome, self._run = self._run.outcome, None
        if isinstance(outcome, UpkeepFailed):
            self._discard()
        return outcome

    def stop(self) -> None:
        """End what runs, at once, and remove what it wrote. Harmless when nothing runs."""
        if self._run is not None:
            self._run.end()
            self._run = None
            self._discard()

    def _start(self, order: Order) -> None:
        if self._run is not None:
            raise RuntimeError("upkeep of this store is under way")
        self._run = _Run(order, self._wake)

    def _discard(self) -> None:
        with contextlib.suppress(OSError):  # what is left goes when the store is opened
            discard_upkeep(self._git_dir)


class _Run:
    """One process, and the thread that awaits it.

    That thread starts it too: the process asks the kernel to be killed when the thread that started it ends.
    """

    def __init__(self, order: Order, wake: Callable[[], None]) -> None:
        self.outcome: Outcome | None = None
        self._order = order
        self._wake = wake
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_ended = False
        self._thread = threading.Thread(target=self._await, name="upkeep", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Kill it and see it gone."""
        with self._lock:
            self._is_ended = True
            if self._process is not None:
                self._process.kill()
        self._thread.join()

    def _await(self) -> None:
        try:
            self.outcome = self._made()
        except Exception as error:  # the thread that owns the store waits for an outcome
            self.outcome = UpkeepFailed(f"{type(error).__name__}: {error}")
        if not self._is_ended:
            self._wake()

    def _made(self) -> Outcome:
        with self._lock:
            if self._is_ended:
                return UpkeepFailed("It was ended before it began.")
            self._process = process = _started(self._order)
        try:
            answer, told = _answer(process, self._order)
        finally:
            process.kill()
            status = process.wait()
        if status != 0:
            return UpkeepFailed(told or f"The process ended with status {status}.")
        return msgspec.json.decode(answer, type=_OUTCOMES[type(self._order)])


def _started(order: Order) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*children.command("backtraild.upkeep"), str(os.getpid())],
        cwd=order.git_dir,
        env=children.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C at the daemon's terminal is the daemon's to handle
    )


def _answer(process: "subprocess.Popen[bytes]", order: Order) -> tuple[bytes, str]:
    """What it answered and what else it said, once it has ended.

    Its standard input stays open until then: that it closes means that the daemon is gone. What else it says fits
    into the pipe, so it need not be read meanwhile.
    """
    if process.stdin is None or process.stdout is None or process.stderr is None:
        raise RuntimeError("the process was started without pipes")
    with process.stdout, process.stderr:
        with contextlib.suppress(BrokenPipeError):  # it ended before it had read all, and said why
            process.stdin.write(msgspec.json.encode(order) + b"\n")
            process.stdin.flush()
        answer, said = process.stdout.read(), process.stderr.read()
    with contextlib.suppress(BrokenPipeError):
        process.stdin.close()
    return answer, said[-_TOLD:].decode(errors="replace").strip()
