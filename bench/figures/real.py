"""The most important figures again, on a tree of real projects instead of a synthetic one."""

from collections.abc import Iterator

from bench.course import Course
from bench.downloads import real_tree
from bench.figure import Figure
from bench.figures.first import WHAT as FIRST
from bench.figures.first import sizes
from bench.figures.restoring import restores
from bench.figures.saving import WHAT as SAVE
from bench.figures.saving import beside_others, saves
from bench.ground import Ground, Times

NAME = "real"


def figures(course: Course) -> Iterator[Figure]:
    """No bars: those are for the synthetic tree, of which everybody can make the same."""
    tree = real_tree(course.folder / NAME)
    course.absent |= tree.absent
    if not tree.names:
        yield Figure(name=NAME, what="a tree of real projects", failure="none of them could be downloaded")
        return
    ground = course.put(NAME, tree.root, tree.paths, course.openers)
    course.versions[NAME] = f"the real tree: {', '.join(tree.names)}, together {ground.files:,} files"
    saved, _ = saves(ground, course.effort.saves, course.effort.others_every)
    yield from _beside_all(FIRST, ground.first, ground)
    yield from _beside_all(SAVE, saved, ground)
    yield from restores(NAME, ground, 1, course.effort.restores, None)
    yield from sizes(NAME, ground)


def _beside_all(what: str, times: Times, ground: Ground) -> Iterator[Figure]:
    told = ground.git.snapshot_is
    yield Figure(name=NAME, what=what, ours=times.ours, peer=times.git, peer_is=told, files=ground.files)
    yield from beside_others(NAME, what, times, ground)
