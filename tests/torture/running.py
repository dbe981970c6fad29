"""The order of rounds: the campaign that had the least time has the next one, several at once if wanted."""

import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess

import msgspec

from torture.attempting import attempt
from torture.campaign import Campaign
from torture.ledger import Entry, Ledger

_FORKING = multiprocessing.get_context("fork")


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much one run may do."""

    jobs: int = 2
    seconds: float = float("inf")  # after this no further round begins
    rounds: int | None = None  # of each campaign
    only: int | None = None  # this one round


@dataclass(slots=True)
class Course:
    """One campaign in this run: the rounds it has still to make and the time it has had."""

    campaign: Campaign
    waiting: deque[int]
    spent: float = 0.0


@dataclass(slots=True, eq=False)
class Making:
    """A round that is being made."""

    course: Course
    number: int
    process: ForkProcess
    answer: Connection
    begun: float = field(default_factory=time.monotonic)


def numbers(campaign: Campaign, ledger: Ledger, bounds: Bounds) -> deque[int]:
    """The rounds to make: those that failed first, as somebody may have mended that, then those never made."""
    if bounds.only is not None:
        return deque([bounds.only])
    most = campaign.rounds if bounds.rounds is None else bounds.rounds
    wanted = range(min(ledger.standing(campaign).wanted, most))
    known = {number: ledger.find(campaign.name, number) for number in wanted}
    failed = [number for number, entry in known.items() if entry and entry.outcome == "failed"]
    other = [number for number, entry in known.items() if not entry or entry.outcome == "unable"]
    return deque(failed + other)


def following(courses: Sequence[Course], under_way: Sequence[Making], now: float) -> Course | None:
    """The course that has the next round: the one with rounds left that had the least time, with what it is at."""
    running = {id(course): 0.0 for course in courses}
    for making in under_way:
        running[id(making.course)] += now - making.begun
    left = [course for course in courses if course.waiting]
    return min(left, key=lambda course: course.spent + running[id(course)], default=None)


class Run:
    """Rounds of all campaigns until they are made, the time is over, or somebody interrupts."""

    def __init__(
        self, campaigns: Sequence[Campaign], ledger: Ledger, bounds: Bounds, version: str = ""
    ) -> None:
        self._ledger, self._bounds, self._version = ledger, bounds, version
        self._courses = [Course(campaign, numbers(campaign, ledger, bounds)) for campaign in campaigns]
        self._under_way: list[Making] = []

    def go(self, tell: Callable[[], None]) -> None:
        """Makes the rounds; `tell` is called about every second. On Ctrl-C, those under way are given up."""
        end = time.monotonic() + self._bounds.seconds
        try:
            while self._begin_as_many_as_wanted(end):
                self._receive()
                tell()
        finally:
            for making in self._under_way:
                making.process.terminate()
            for making in self._under_way:
                making.process.join()

    def _begin_as_many_as_wanted(self, end: float) -> bool:
        while len(self._under_way) < self._bounds.jobs and (now := time.monotonic()) < end:
            course = following(self._courses, self._under_way, now)
            if course is None:
                break
            self._begin(course, course.waiting.popleft())
        return bool(self._under_way)

    def _begin(self, course: Course, number: int) -> None:
        answer, question = _FORKING.Pipe(duplex=False)
        process = _FORKING.Process(target=_answer, args=(question, course.campaign, number, self._version))
        process.start()
        question.close()  # so that the answer's end is seen if the process dies without one
        self._under_way.append(Making(course, number, process, answer))

    def _receive(self) -> None:
        answered = wait([making.answer for making in self._under_way], timeout=1.0)
        for making in [making for making in self._under_way if making.answer in answered]:
            entry = self._entry(making)
            self._ledger.append(entry)
            making.process.join()
            self._under_way.remove(making)
            self._learn(making.course, entry)

    def _entry(self, making: Making) -> Entry:
        name, seconds = making.course.campaign.name, time.monotonic() - making.begun
        try:
            return msgspec.json.decode(making.answer.recv_bytes(), type=Entry)
        except EOFError:
            text = "The process that watches over the round ended without an answer."
            return Entry(campaign=name, number=making.number, outcome="failed", seconds=seconds, text=text)
        finally:
            making.answer.close()

    def _learn(self, course: Course, entry: Entry) -> None:
        course.spent += entry.seconds
        standing = self._ledger.standing(course.campaign)
        if entry.outcome == "finished" or (entry.outcome == "unable" and not standing.done):
            # What this machine is unable to do once, before anything has worked, it is unable to do a thousand times.
            course.waiting.clear()


def _answer(question: Connection, campaign: Campaign, number: int, version: str) -> None:
    question.send_bytes(msgspec.json.encode(attempt(campaign, number, version)))
