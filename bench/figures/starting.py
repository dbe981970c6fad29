"""P4: from the start of the daemon's process until everything that changed meanwhile is in a checkpoint."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field

from bench.clock import seconds
from bench.course import Course
from bench.figure import Figure, at_most_times
from bench.ground import Ground, Times
from bench.peers import GIT
from bench.sample import sample

WHAT = "start-up catch-up, {}"
BAR = 1.5


def figures(course: Course) -> Iterator[Figure]:
    """With nothing to catch up with, and with something."""
    for changed in (0, min(course.effort.changed_at_start, course.files)):
        found = starts(course.main, course.effort.starts, changed)
        told = f"{changed:,} files changed" if changed else "nothing changed"
        answering = sample(found.answering).at(0.5)
        yield Figure(
            name="P4",
            what=WHAT.format(told),
            ours=found.times.ours,
            peer=found.times.git,
            peer_is="git status",
            bar=at_most_times(BAR),
            note=f"{answering:.2f} s of it until requests are answered",
        )


@dataclass
class Starts:
    """What everybody needed, and how much of ours is the start of the process."""

    times: Times = field(default_factory=Times)
    answering: list[float] = field(default_factory=list)


def starts(ground: Ground, rounds: int, changed: int) -> Starts:
    """In turns: a start of ours after so many changes, and git's look at the same folder."""
    found = Starts()
    ground.git.snapshot()
    ground.settle()
    for _ in range(rounds):
        ground.ours.stop()
        ground.edits.make(changed)
        os.sync()
        answering = seconds(ground.ours.start)
        # Requests to a folder's worker are answered when it has caught up.
        caught_up = seconds(lambda: ground.workspace.list(limit=1))
        found.answering.append(answering)
        found.times.add_ours(answering + caught_up)
        ground.time(GIT.name, ground.git.status, found.times)
        if changed:
            ground.git.snapshot()
    return found
