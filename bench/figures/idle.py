"""P8: what a daemon costs that has nothing to do."""

import time
from collections.abc import Iterator

from bench.course import Course
from bench.effort import Effort
from bench.figure import Figure, Unit, at_most
from bench.machine import processor_seconds, wake_ups
from bench.ours import Ours
from bench.sample import single
from bench.trees import make_tree

FILES = 100
BAR = 0.1  # % of a core
_QUIET_SECONDS = 1.0
_PATIENCE_SECONDS = 30.0


def figures(course: Course) -> Iterator[Figure]:
    """Some workspaces in which nothing happens, over a while."""
    with Ours(course.folder / "idle" / "home") as ours:
        for number in range(course.effort.workspaces):
            root = course.folder / "idle" / f"work{number}"
            root.mkdir()
            make_tree(root, FILES, seed=number)
            ours.watch(root)
        ours.come_to_rest()
        _settle(ours.pid)
        yield from _measured(ours.pid, course.effort)


def _measured(pid: int, effort: Effort) -> Iterator[Figure]:
    spent, woken, start = processor_seconds(pid), wake_ups(pid), time.monotonic()
    time.sleep(effort.idle_seconds)  # a span to measure, not a wait for something
    span = time.monotonic() - start
    share = 100 * (processor_seconds(pid) - spent) / span
    times = [count - woken.get(task, 0) for task, count in wake_ups(pid).items()]
    what = f"idle daemon, {effort.workspaces} workspaces, over {span:.0f} s"
    yield Figure(name="P8", what=f"{what}: CPU", unit=Unit.SHARE, ours=single(share), bar=at_most(BAR))
    yield Figure(
        name="P8",
        what=f"{what}: most wake-ups of one thread",
        unit=Unit.COUNT,
        ours=single(max(times)),
        bar=at_most(span),
        note=f"{sum(times)} context switches of all {len(times)} threads",
    )


def _settle(pid: int) -> None:
    """Until nothing has woken for a moment, or that does not come."""
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    before: dict[str, int] = {}
    while before != (before := wake_ups(pid)) and time.monotonic() < give_up_at:
        time.sleep(_QUIET_SECONDS)
