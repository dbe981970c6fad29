"""A run: the figures one after the other, each told as soon as it is there, whatever becomes of the others."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from bench import machine
from bench.course import Course
from bench.figure import Figure
from bench.figures import Measure
from bench.machine import Processors

TIME_IS_UP = "not measured: the time of the run was up"


def measured(
    course: Course,
    figures: Mapping[str, Measure],
    names: Sequence[str],
    seconds: float,
    say: Callable[[str], None],
) -> Iterator[Figure]:
    """Rows as they come. No figure is begun after so many seconds, and one that fails is a row that says so."""
    give_up_at = time.monotonic() + seconds
    for name in names:
        load, before = machine.load(), Processors.now()
        say(f"{name}: {datetime.now(UTC):%H:%M:%S}, load {load:.2f}")
        if time.monotonic() > give_up_at:
            yield _stamped(Figure(name=name, what="", failure=TIME_IS_UP), course, load, None)
            continue
        for figure in _rows(name, figures[name], course):
            yield _stamped(figure, course, load, round(Processors.now().taken_since(before), 3))


def _rows(name: str, measure: Measure, course: Course) -> Iterator[Figure]:
    try:
        yield from measure(course)
    except Exception as error:  # of whatever kind: the other figures are worth having
        yield Figure(name=name, what="", failure=f"failed: {type(error).__name__}: {error}")


def _stamped(figure: Figure, course: Course, load: float, stolen: float | None) -> Figure:
    return msgspec.structs.replace(
        figure,
        load=load,
        stolen=stolen,
        files=figure.files or course.files,
        day=f"{datetime.now(UTC):%Y-%m-%d}",
    )
