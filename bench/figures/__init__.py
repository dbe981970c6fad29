"""The figures, each a function that measures one bar and tells rows of the table as it has them."""

from collections.abc import Callable, Iterator, Mapping

from bench.course import Course
from bench.figure import Figure
from bench.figures import (
    asking,
    commands,
    disk,
    events,
    first,
    growth,
    idle,
    memory,
    real,
    restoring,
    saving,
    starting,
    storm,
)

Measure = Callable[[Course], Iterator[Figure]]

FIGURES: Mapping[str, Measure] = {
    "P1": saving.figures,
    "P2": growth.figures,
    "P3": first.figures,
    "P4": starting.figures,
    "P5": restoring.figures,
    "P6": memory.figures,
    "P7": disk.figures,
    "P8": idle.figures,
    "P9": commands.figures,
    "P10": events.figures,
    "P11": storm.figures,
    "P12": asking.figures,
    "real": real.figures,
}
