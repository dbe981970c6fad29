"""What a campaign is: one promise, tried again and again, each time with another seed."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

# So many cases of a matrix are one round: finding out what its calls are costs as much as two cases.
AT_ONCE = 25

Plan = TypeVar("Plan")
Counts = Mapping[str, float]
"""What a round counted. Figures add up over the rounds; one whose name begins with `most` keeps its largest."""


class Finished(Exception):
    """There is no such round: the rounds before were all there are, as in a matrix of system calls."""


class Unable(Exception):
    """This machine can't do it, as without root; the message says why."""


@dataclass(frozen=True, slots=True)
class Round:
    """One attempt. The folder is empty, its own, and removed afterwards."""

    number: int
    folder: Path

    @property
    def source(self) -> random.Random:
        """Chance that comes out the same whenever this round is repeated."""
        return random.Random(self.number)


@dataclass(frozen=True, slots=True)
class Campaign:
    """`attempt` makes one round: it returns what it counted, and raises AssertionError where the promise broke."""

    name: str  # such as `kill-save`
    bar: str  # such as `R1`
    promise: str  # what holds in every round, as a sentence
    rounds: int  # how many the long run makes at most
    attempt: Callable[[Round], Counts]
    seconds: float = 120.0  # a round that takes longer is ended, and has failed


def at_calls(plans: Sequence[Plan], attempt: Round, trial: Callable[[Path, Plan], Counts]) -> Counts:
    """Some cases of a matrix of system calls, one after another."""
    total: Counts = {}
    mine = plans[attempt.number * AT_ONCE :][:AT_ONCE]
    if not mine:
        raise Finished
    for number, plan in enumerate(mine):
        folder = attempt.folder / str(number)
        folder.mkdir()
        total = added(total, trial(folder, plan))
    return total


def added(total: Counts, counts: Counts) -> Counts:
    """Both counts together: sums, and the larger of the two where the name begins with `most`."""
    both = dict(total)
    for name, value in counts.items():
        known = both.get(name, 0)
        both[name] = max(known, value) if name.startswith("most") else known + value
    return both
