"""What was measured, all of it: nothing is left out because it looks too large or too small."""

import math
import statistics
from collections.abc import Iterable

import msgspec


class Sample(msgspec.Struct, frozen=True):
    """Repetitions of one measurement, in the order in which they were made."""

    values: tuple[float, ...]

    def at(self, quantile: float) -> float:
        """The median, or the smallest value that so large a part of all does not exceed."""
        if quantile == 0.5:
            return statistics.median(self.values)
        return sorted(self.values)[max(0, math.ceil(quantile * len(self.values)) - 1)]

    @property
    def low(self) -> float:
        """The smallest of all."""
        return min(self.values)

    @property
    def high(self) -> float:
        """The largest of all."""
        return max(self.values)


def sample(values: Iterable[float]) -> Sample:
    """A sample of these; more digits than clocks are good for are not kept."""
    return Sample(tuple(float(f"{value:.6g}") for value in values))


def single(value: float) -> Sample:
    """What was measured once."""
    return sample([value])
