"""P2: how the cost of a save grows with the tree; start-up, first snapshot and memory for the plot beside it."""

from collections.abc import Iterator

from bench.course import Course
from bench.figure import Figure, at_most_times
from bench.figures.saving import one_save
from bench.figures.starting import starts
from bench.ground import Times
from bench.growth import Point
from bench.peers import GIT
from bench.sample import Sample

WHAT = "save of one changed file, growth to {:,} files"
LARGE = 100_000  # files: up to here, and above
BAR, HUGE_BAR = 1.3, 1.6
GIT_SAVES = 5

SAVE, FIRST, START, MEMORY = (
    "save of one changed file",
    "first snapshot",
    "start-up, nothing changed",
    "memory of the daemon",
)


def figures(course: Course) -> Iterator[Figure]:
    """The same in trees of all sizes."""
    saved = _saves(course)
    smallest = course.sizes[0]
    for files in course.sizes[1:]:
        yield Figure(
            name="P2",
            what=WHAT.format(files),
            files=files,
            ours=saved[files],
            peer=saved[smallest],
            peer_is=f"{smallest:,} files",
            bar=at_most_times(BAR if files <= LARGE else HUGE_BAR),
        )
    for files in course.sizes:
        _note(course, files, saved[files])


def _saves(course: Course) -> dict[int, Sample]:
    """Each round saves once in each tree: whatever slows the machine down slows all of them down."""
    grounds = {files: course.ground(files) for files in course.sizes}
    times = {files: Times() for files in course.sizes}
    for ground in grounds.values():
        ground.settle()
    for _ in range(course.effort.growth_saves):
        for files, ground in grounds.items():
            times[files].add_ours(one_save(ground))
    return {files: each.ours for files, each in times.items()}


def _note(course: Course, files: int, saved: Sample) -> None:
    """The points of all curves at one size."""
    ground, times = course.ground(files), Times()
    for _ in range(min(GIT_SAVES, course.effort.growth_saves)):
        ground.edits.make()
        ground.time(GIT.name, ground.git.snapshot, times)
    ground.settle()
    started = starts(ground, course.effort.growth_starts, changed=0).times
    for curve, ours, peer, told in (
        (SAVE, saved, times.git, ground.git.snapshot_is),
        (FIRST, ground.first.ours, ground.first.git, ground.git.snapshot_is),
        (START, started.ours, started.git, "git status"),
    ):
        course.growth.add(
            Point(curve=curve, unit="s", files=files, ours=ours.at(0.5), peer=peer.at(0.5), peer_is=told)
        )
    course.growth.add(Point(curve=MEMORY, unit="bytes", files=files, ours=ground.memory.resident))
