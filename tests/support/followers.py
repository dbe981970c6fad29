"""Followers of a daemon's events: in a thread with either client, or in a process that can be stopped and killed."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from backtrail import AsyncClient, Client
from support.watching import eventually

Heard = tuple[int, str]  # the number of an event, and the run of the daemon that it is from

_PROGRAM = """
import sys, time
from backtrail import Client
from backtrail.errors import DaemonUnreachable
home, since, file, pause = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], "a"), float(sys.argv[4])
with Client(home=home, autostart=False) as client:
    events = None
    while events is None:
        try:
            events = client.events(since=since)
        except DaemonUnreachable:
            time.sleep(0.05)
    for event in events:
        file.write(f"{event.seq} {event.epoch}\\n")
        file.flush()
        time.sleep(pause)
"""


class Follower:
    """What every kind has in common: what it heard, and that it must be everything, once, in order."""

    def heard(self) -> list[Heard]:
        raise NotImplementedError

    def wait_for(self, newest: int, seconds: float = 30.0) -> None:
        """Until it has heard all events up to this one."""
        eventually(lambda: self._is_at(newest), seconds, f"{newest} never came after {self.heard()[-3:]}")
        self.check(newest)

    def check(self, newest: int) -> None:
        """Nothing lost, nothing twice, and no run of the daemon after one that followed it.

        It may have heard more by now: the daemon has news of its own, such as what retention has let go.
        """
        heard = self.heard()
        seqs = [seq for seq, _ in heard]
        assert seqs == list(range(1, len(seqs) + 1)), _around_first_gap(heard)
        assert len(seqs) >= newest, f"{newest} is missing after {heard[-3:]}"
        runs = [epoch for epoch, _ in groupby(epoch for _, epoch in heard)]
        assert len(runs) == len(set(runs)), runs

    def _is_at(self, newest: int) -> bool:
        heard = self.heard()
        return bool(heard) and heard[-1][0] >= newest


def _around_first_gap(heard: list[Heard]) -> list[Heard]:
    place = next(place for place, (seq, _) in enumerate(heard) if seq != place + 1)
    return heard[max(0, place - 3) : place + 3]


class ThreadFollower(Follower, threading.Thread):
    """Follows with the one client or the other until it is told to end; a slow one takes its time with each event."""

    def __init__(self, *, is_async: bool = False, pause: float = 0.0, **where: Any) -> None:
        threading.Thread.__init__(self, name="follower")
        self._where, self._is_async, self._pause = where, is_async, pause
        self._heard: list[Heard] = []
        self._end: Callable[[], object] = lambda: None
        self.failure: BaseException | None = None

    def __enter__(self) -> "ThreadFollower":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self.join(20)
        assert not self.is_alive()
        assert self.failure is None, self.failure

    def heard(self) -> list[Heard]:
        return list(self._heard)

    def run(self) -> None:
        try:
            if self._is_async:
                asyncio.run(self._follow_async())
            else:
                self._follow()
        except BaseException as error:
            self.failure = error

    def _follow(self) -> None:
        with Client(**self._where) as client, client.events(since=0) as events:
            self._end = events.close
            for event in events:
                self._heard.append((event.seq, event.epoch))
                time.sleep(self._pause)  # being slow is its task

    async def _follow_async(self) -> None:
        loop = asyncio.get_running_loop()
        async with AsyncClient(**self._where) as client:
            task = asyncio.create_task(self._collect(client))
            self._end = lambda: loop.call_soon_threadsafe(task.cancel)
            await asyncio.wait([task])
            if not task.cancelled() and task.exception() is not None:
                raise task.exception()  # type: ignore[misc]

    async def _collect(self, client: AsyncClient) -> None:
        async for event in client.events(since=0):
            self._heard.append((event.seq, event.epoch))
            await asyncio.sleep(self._pause)


class ProcessFollower(Follower):
    """Follows in a process of its own and writes down what it hears; begun again, it goes on where it was."""

    def __init__(self, home: Path, file: Path, pause: float = 0.0) -> None:
        self._home, self._file, self._pause = home, file, pause
        self._file.touch()
        self._begin()

    def __enter__(self) -> "ProcessFollower":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def heard(self) -> list[Heard]:
        whole, _, _ = self._file.read_text().rpartition("\n")
        lines = [line.split() for line in whole.splitlines()]
        return [(int(seq), epoch) for seq, epoch in lines]

    def stop(self) -> None:
        """It does nothing any more, and does not know."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """It goes on as if nothing had been."""
        os.kill(self.pid, signal.SIGCONT)

    def die_and_return(self) -> None:
        """It is killed, and another goes on after the last event that it wrote down as a whole."""
        self._process.kill()
        self._process.wait()
        whole, end, _ = self._file.read_text().rpartition("\n")
        self._file.write_text(whole + end)
        self._begin()

    def _begin(self) -> None:
        since = self.heard()[-1][0] if self._file.stat().st_size else 0
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, self._home, str(since), self._file, str(self._pause)],
            stdin=subprocess.DEVNULL,
        )
