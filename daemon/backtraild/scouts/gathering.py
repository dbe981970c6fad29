"""The scouts as the daemon knows them: waited for, and called back."""

import contextlib
import logging
import marshal
import os
import select
import signal
import threading
from collections.abc import Callable, Iterator

from backtraild.scouts.looking import Found
from backtraild.scouts.party import FINDING, Party
from backtraild.scouts.report import Report

# Whoever tells nothing for so many seconds will not; a disk that takes longer is waited for by the look itself.
PATIENCE = 60
STOP_CHECK_SECONDS = 0.1
END_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Scouts:
    """A thread that takes note of what they tell, for whoever asks. Each report is given away once."""

    def __init__(self, party: Party) -> None:
        self._party = party
        self._changed = threading.Condition()
        self._planned = dict(party.plan)  # how many stretches there are of which workspace
        self._found: dict[str, dict[int, Found]] = {workspace: {} for workspace in self._planned}
        self._are_back = False
        os.close(party.held_back)
        # A scout at a disk that does not answer can't even be killed; nobody waits for it.
        self._thread = threading.Thread(target=self._gather, name="scouts", daemon=True)
        self._thread.start()

    @property
    def queue(self) -> int:
        """The kernel's queue with the events of their watches."""
        return self._party.queue

    @contextlib.contextmanager
    def report(self, workspace: str, stop: Callable[[], bool]) -> Iterator[Report | None]:
        """What was found in a workspace; waits for it. None if nobody was there, or did not come back.

        It is expected until the block ends.
        """
        with self._changed:
            while workspace in self._found and not (self._is_whole(workspace) or stop()):
                self._changed.wait(STOP_CHECK_SECONDS)
            found = self._found[workspace] if self._is_whole(workspace) else None
        try:
            # In the order of stretches, which is that of a walk.
            yield None if found is None else Report(stretch for _, stretch in sorted(found.items()))
        finally:
            with self._changed:
                self._found.pop(workspace, None)

    def are_expected(self) -> bool:
        """Is there a report that was not made use of?"""
        with self._changed:
            return bool(self._found)

    def distrust(self) -> None:
        """Events of their watches were lost: what they found may have changed since, and counts no more."""
        with self._changed:
            self._found.clear()
            self._changed.notify_all()

    def call_back(self) -> None:
        """Have them end, wherever they are."""
        with self._changed:
            if not self._are_back:
                self._end_processes()
        self._thread.join(END_SECONDS)

    def _is_whole(self, workspace: str) -> bool:
        return len(self._found.get(workspace, ())) == self._planned.get(workspace)

    def _gather(self) -> None:
        try:
            for number, stretch, found in self._told():
                self._take(self._party.plan[number][0], stretch, found)
        except Exception:
            _log.exception("What scouts told was not understood; everything is looked at instead.")
        finally:
            self._end()

    def _told(self) -> Iterator[tuple[int, int, Found]]:
        told = select.poll()
        told.register(self._party.told, select.POLLIN)
        while _has_come(told):
            finding = os.read(self._party.told, FINDING.size)
            if not finding:
                return
            number, stretch, offset, length = FINDING.unpack(finding)
            found = marshal.loads(os.pread(self._party.findings, length, offset))  # noqa: S302 (a scout wrote it)
            yield number, stretch, Found(*found)

    def _take(self, workspace: str, stretch: int, found: Found) -> None:
        with self._changed:
            if workspace in self._found:  # else nobody waits for it any more
                self._found[workspace][stretch] = found
                if self._is_whole(workspace):
                    self._changed.notify_all()

    def _end(self) -> None:
        with self._changed:
            self._end_processes()  # nearly always they have ended
            self._are_back = True
            for workspace in self._planned:
                if not self._is_whole(workspace):  # there will be no report
                    self._found.pop(workspace, None)
            self._changed.notify_all()
        os.close(self._party.told)
        os.close(self._party.findings)
        for process in self._party.processes:
            os.waitpid(process, 0)

    def _end_processes(self) -> None:
        for process in self._party.processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def _has_come(told: "select.poll") -> bool:
    """Second by second: where the machine was suspended, one of them has taken hours, and the scouts go on now."""
    return any(told.poll(1000) for _ in range(PATIENCE))
