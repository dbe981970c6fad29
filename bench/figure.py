"""A figure: what was measured for one bar of the project, the peer's beside it, and whether the bar was reached."""

from enum import StrEnum

import msgspec

from bench.sample import Sample


class Unit(StrEnum):
    """What the numbers of a figure count."""

    SECONDS = "s"
    BYTES = "bytes"
    SHARE = "%"
    COUNT = ""


class Sense(StrEnum):
    """How a bar is meant."""

    FASTER = "faster"  # the peer takes at least so many times as long
    TIMES = "times"  # at most so many times the peer's
    VALUE = "value"  # at most so much, whatever a peer takes


class Bar(msgspec.Struct, frozen=True):
    """What is wanted."""

    sense: Sense
    limit: float


class Figure(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One row of the table. Without a bar it is there to compare; with a failure it could not be measured."""

    name: str
    what: str
    unit: Unit = Unit.SECONDS
    quantile: float = 0.5
    ours: Sample | None = None
    peer: Sample | None = None
    peer_is: str = ""
    bar: Bar | None = None
    note: str = ""
    failure: str = ""
    files: int = 0
    load: float = 0.0
    stolen: float | None = None
    day: str = ""

    @property
    def value(self) -> float | None:
        """Ours, as one number."""
        return None if self.ours is None else self.ours.at(self.quantile)

    @property
    def peers_value(self) -> float | None:
        """The peer's, as one number: the usual case, not its bad luck."""
        return None if self.peer is None else self.peer.at(0.5)

    @property
    def ratio(self) -> float | None:
        """How many times faster ours is, or how many times the peer's it takes, as the bar asks."""
        if not self.value or not self.peers_value:
            return None
        is_faster = self.bar is not None and self.bar.sense is Sense.FASTER
        return self.peers_value / self.value if is_faster else self.value / self.peers_value

    @property
    def reached(self) -> bool | None:
        """None where nothing is wanted. What could not be measured is not reached."""
        if self.bar is None:
            return False if self.failure else None
        found = self.value if self.bar.sense is Sense.VALUE else self.ratio
        if found is None:
            return False
        return found >= self.bar.limit if self.bar.sense is Sense.FASTER else found <= self.bar.limit


def faster(times: float) -> Bar:
    """A bar of the kind "so many times faster than the peer"."""
    return Bar(Sense.FASTER, times)


def at_most_times(times: float) -> Bar:
    """A bar of the kind "no more than so many times the peer's"."""
    return Bar(Sense.TIMES, times)


def at_most(limit: float) -> Bar:
    """A bar of the kind "no more than so much"."""
    return Bar(Sense.VALUE, limit)
