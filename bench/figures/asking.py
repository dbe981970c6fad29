"""P12: questions about checkpoints: how two of them differ, and the newest among very many."""

from collections.abc import Iterator, Sequence
from functools import partial

from bench.clock import seconds
from bench.course import Course
from bench.figure import Bar, Figure, at_most, faster
from bench.ground import Ground, Times
from bench.peers import GIT
from bench.peers.peer import run

DIFFERING, LISTED = 10, 50
DIFF_BAR, LIST_BAR_SECONDS = 5, 0.020
HISTORY_FILES = 1_000
_NEWEST = ("for-each-ref", "--sort=-version:refname", f"--count={LISTED}", "refs/checkpoints")


def figures(course: Course) -> Iterator[Figure]:
    """The git binary answers the same from our own store."""
    yield _new_diff(course.main, course.effort.questions)
    yield _diff(course.main, course.effort.questions)
    yield _list(course)


def _new_diff(ground: Ground, rounds: int) -> Figure:
    """Each of them asked once: nobody can know the answer from before."""
    times, before = Times(), ground.workspace.get(ground.settle())
    for _ in range(rounds):
        ground.edits.make(DIFFERING)
        after = ground.workspace.get(ground.settle())
        times.add_ours(seconds(partial(ground.workspace.diff, before.number, after.number)))
        ground.time(GIT.name, partial(_git, ground, ("diff", before.id, after.id)), times)
        before = after
    what = f"diff of two checkpoints, {DIFFERING} files apart, never asked before"
    return _figure(what, times, "git diff on the same store", faster(DIFF_BAR))


def _diff(ground: Ground, rounds: int) -> Figure:
    before = ground.workspace.get(ground.settle())
    ground.edits.make(DIFFERING)
    after = ground.workspace.get(ground.settle())
    times = Times()
    for _ in range(rounds):
        times.add_ours(seconds(lambda: ground.workspace.diff(before.number, after.number)))
        ground.time(GIT.name, partial(_git, ground, ("diff", before.id, after.id)), times)
    what = f"diff of two checkpoints, {DIFFERING} files apart, asked again"
    return _figure(what, times, "git diff on the same store", faster(DIFF_BAR))


def _list(course: Course) -> Figure:
    ground, times = course.ground(HISTORY_FILES, "history"), Times()
    for _ in range(course.effort.history):
        ground.edits.make()
        ground.workspace.save("bench")
    for _ in range(course.effort.questions):
        times.add_ours(seconds(lambda: ground.workspace.list(limit=LISTED)))
        ground.time(GIT.name, partial(_git, ground, _NEWEST), times)
    what = f"list of {LISTED} among {course.effort.history:,} checkpoints"
    return _figure(what, times, "git for-each-ref on the same store", at_most(LIST_BAR_SECONDS))


def _figure(what: str, times: Times, peer_is: str, bar: Bar) -> Figure:
    return Figure(name="P12", what=what, ours=times.ours, peer=times.git, peer_is=peer_is, bar=bar)


def _git(ground: Ground, arguments: Sequence[str]) -> None:
    run(["git", *arguments], ground.repository, {})
