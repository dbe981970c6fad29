"""The scouts as processes, sent out by the daemon before it has loaded anything else.

Stretches of folders lie in a pipe, out of which each takes the next one, so that they come to an end together. What
they find they write into a file, each into a region of its own, and tell through another pipe where it lies: nobody
waits for the daemon to read.

The last of several waits until the daemon has loaded its modules. Until then there is a processor for each of the
others and one for the daemon, which else would share one, and still have much to do when all scouts are back.
"""

import contextlib
import gc
import marshal
import os
import signal
import sys
from collections.abc import Iterator
from sqlite3 import Connection
from struct import Struct
from typing import NamedTuple, NoReturn

from backtraild.scouts import kernel
from backtraild.scouts.errand import Errand, errands, open_table
from backtraild.scouts.listings import Listings
from backtraild.scouts.looking import look
from backtraild.scouts.sights import Sights

MOST_SCOUTS = 4

FINDING = Struct("<IIqq")  # an errand, a stretch of it, and where in the file lies what was found there

_JOB = Struct("<II")  # an errand and a stretch of it
_REGION_BITS = 40


class Party(NamedTuple):
    """Scouts on their way, and what they share with the daemon."""

    processes: list[int]
    queue: int  # of the kernel's events
    findings: int
    told: int
    held_back: int  # closed when the last of them shall set out
    plan: list[tuple[str, int]]  # the workspace of each errand, and how many stretches it has


class _Base(NamedTuple):
    """From where scouts work."""

    queue: int
    findings: int
    told: int
    telling: int
    jobs: int
    giving: int
    waiting: int  # ends when nobody is held back any more
    held_back: int
    daemon: int  # the process without which nobody waits for them


def send_out(registry: str, stores: str) -> Party | None:
    """Send scouts to all workspaces that are worth it; None where none is, or the system has no means for that.

    To be called before there are threads.
    """
    if sys.platform != "linux":
        return None
    try:
        found = errands(registry, stores)
        base = _set_up() if found else None
    except (OSError, ValueError, LookupError, TypeError):
        return None  # if the list of workspaces is damaged, whoever reads it next says so
    if base is None:
        return None
    _give(base.giving, found)
    count = min(MOST_SCOUTS, len(os.sched_getaffinity(0)))
    processes = [
        process
        for region in range(count)
        if (process := _sent(base, region, found, is_held_back=0 < region == count - 1))
    ]
    for descriptor in (base.telling, base.jobs, base.giving, base.waiting):
        os.close(descriptor)
    plan = [(errand.workspace, len(errand.stretches)) for errand in found]
    return Party(processes, base.queue, base.findings, base.told, base.held_back, plan)


def _set_up() -> _Base:
    with contextlib.ExitStack() as opened:

        def keep(descriptor: int) -> int:
            opened.callback(os.close, descriptor)
            return descriptor

        queue, findings = keep(kernel.open_queue()), keep(os.memfd_create("findings"))
        told, telling = map(keep, os.pipe())
        jobs, giving = map(keep, os.pipe())
        waiting, held_back = os.pipe()
        opened.pop_all()
    return _Base(queue, findings, told, telling, jobs, giving, waiting, held_back, os.getpid())


def _give(giving: int, found: list[Errand]) -> None:
    for number, errand in enumerate(found):
        os.write(giving, b"".join([_JOB.pack(number, stretch) for stretch in range(len(errand.stretches))]))


def _sent(base: _Base, region: int, found: list[Errand], *, is_held_back: bool) -> int | None:
    """A new process that does nothing but scouting; None where the system allows no more."""
    try:
        process = os.fork()
    except OSError:
        return None
    return process if process else _work_as_scout(base, region, found, is_held_back=is_held_back)


def _work_as_scout(base: _Base, region: int, found: list[Errand], *, is_held_back: bool) -> NoReturn:
    status = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        gc.disable()  # it ends before there is much to collect
        for others in (base.giving, base.held_back):  # when those end, it must be known
            os.close(others)
        _close_all_but(base.queue, base.findings, base.telling, base.jobs, base.waiting)
        if is_held_back:
            os.read(base.waiting, 1)  # nothing is ever written there
        _scout(base, region, found)
        status = 0
    except Exception as error:  # without all that was to be found there is no report
        sys.stderr.write(f"backtraild: a scout has given up: {error!r}. Everything is looked at instead.\n")
    finally:
        os._exit(status)


def _close_all_but(*needed: int) -> None:
    """The lock above all: it would be held for as long as the slowest scout looks, also when the daemon was killed."""
    first = 3
    for descriptor in sorted(needed):
        os.closerange(first, descriptor)
        first = descriptor + 1


def _scout(base: _Base, region: int, found: list[Errand]) -> None:
    """Do one job after the other, until none is left or nobody waits any more."""
    tables: dict[int, Connection] = {}
    sights = Sights()
    end = region << _REGION_BITS
    for number, stretch in _jobs(base.jobs):
        errand = found[number]
        if number not in tables:
            tables[number] = open_table(errand.table)
        there = errand.stretches[stretch]
        listings = Listings(tables[number], there, errand.root if errand.dates_folders else None)
        found_there = look(errand.root, tables[number], there, base.queue, listings, sights)
        if os.getppid() != base.daemon:
            return
        finding = marshal.dumps(tuple(found_there))
        if os.pwrite(base.findings, finding, end) < len(finding):
            raise MemoryError("no room for what was found")
        os.write(base.telling, FINDING.pack(number, stretch, end, len(finding)))
        end += len(finding)


def _jobs(given: int) -> Iterator[tuple[int, int]]:
    """Those that nobody else has taken."""
    while job := os.read(given, _JOB.size):
        yield _JOB.unpack(job)
