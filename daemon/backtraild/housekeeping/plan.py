"""What a store needs next, and how much room that may take. Pure: sizes and counts come in as arguments."""

from enum import Enum, auto

from msgspec import Struct

from backtraild.upkeep import AT_ONCE
from backtraild.workspace import Bound

NEAR = 0.85  # of the cap: from here on, room is made
GOAL = 0.75  # of the cap: what is left then
GOAL_STEP = 0.1  # how much lower the next goal is, where the last one did not help
MANY_PACKS = 60
# As many as one round merges: to wait for more would save no round, and each takes memory, and time to be opened.
BACKLOG = AT_ONCE
SPARE_PART = 50  # of what may be kept at most: so many places are made at once


class Step(Enum):
    """What to do next."""

    NOTHING = auto()
    WEIGH = auto()  # find out what the checkpoints take, then let go of those that do not fit
    TIDY = auto()
    GIVE_BACK = auto()  # tidy, and every byte counts

    @property
    def is_urgent(self) -> bool:
        """Does somebody wait for room?"""
        return self in (Step.WEIGH, Step.GIVE_BACK)


class Situation(Struct, frozen=True):
    """How a store is doing."""

    used: int
    cap: int
    packs: int
    has_rubbish: bool
    refused: Bound | None  # what kept the last save from being made
    is_exhausted: bool = False  # all that could be done to make room was done lately
    is_unfinished: bool = False  # the last round did not give back all it could have
    packs_left: int = 0  # by the last round

    @property
    def is_near_cap(self) -> bool:
        """Is there hardly any room left, or too little for what was to be saved?"""
        return self.used > self.cap * NEAR or self.refused is Bound.CAP

    @property
    def has_backlog(self) -> bool:
        """Have so many packs come that they should not wait for the time of the next round?"""
        return self.packs - self.packs_left > BACKLOG


def next_step(found: Situation) -> Step:
    """What has to be done now, if anything."""
    if not found.is_exhausted:
        if found.is_near_cap:
            return Step.GIVE_BACK if found.is_unfinished else Step.WEIGH
        if found.refused is Bound.FLOOR:
            return Step.GIVE_BACK
    return Step.TIDY if found.has_rubbish or found.packs > MANY_PACKS else Step.NOTHING


class Copies(Struct, frozen=True):
    """What the copies of a round may take for a while; `reserved` is what saves have to leave for them."""

    room: int
    reserved: int


def copies(cap_left: int, disk_room: int, largest: int) -> Copies:
    """How much upkeep may write before it takes away what it copied.

    Half of what the cap has left, so that saves have the other half. A store that is nearly full could then never be
    tidied: as much as its largest pack is always allowed, if the disk has it.
    """
    half = max(0, cap_left) // 2
    if largest <= half:
        return Copies(min(half, disk_room), min(half, disk_room))
    return Copies(min(largest, disk_room), 0)
