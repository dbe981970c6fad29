"""P6: the memory of a daemon that watches a large tree."""

from collections.abc import Iterator

from bench.course import Course
from bench.figure import Figure, Unit, at_most
from bench.figures.growth import LARGE
from bench.ground import Ground
from bench.machine import MEGABYTE, Memory
from bench.sample import single

BAR, HUGE_BAR = 120 * MEGABYTE, 600 * MEGABYTE


def figures(course: Course) -> Iterator[Figure]:
    """For the tree of the bars and larger ones."""
    for files in course.sizes:
        if files >= course.files:
            ground = course.ground(files)
            yield _figure(ground, "after the first snapshot", ground.memory)
            ground.ours.stop()
            ground.ours.start()
            ground.workspace.list(limit=1)
            ground.ours.come_to_rest()
            yield _figure(ground, "after a start", Memory.of(ground.ours.pid))


def _figure(ground: Ground, when: str, memory: Memory) -> Figure:
    return Figure(
        name="P6",
        what=f"resident memory, watching {ground.files:,} files, {when}",
        files=ground.files,
        unit=Unit.BYTES,
        ours=single(memory.resident),
        bar=at_most(BAR if ground.files <= LARGE else HUGE_BAR),
        note=f"at most {memory.peak / MEGABYTE:.0f} MB until then",
    )
