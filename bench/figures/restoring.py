"""P5: going back to an earlier state, over one differing file and over many."""

from collections.abc import Iterator

from bench.clock import seconds
from bench.course import Course
from bench.figure import Bar, Figure, at_most_times, faster
from bench.ground import Ground, Times
from bench.peers import GIT, Peer

ONE_BAR, MANY_BAR = 50, 1.0
WHAT = "restore, {} differing file{}"


def figures(course: Course) -> Iterator[Figure]:
    """Ours has the state to leave in a checkpoint, too; git forgets it."""
    many = min(course.effort.many_files, course.files // 2)
    for count, rounds, bar in (
        (1, course.effort.restores, faster(ONE_BAR)),
        (many, course.effort.many_restores, at_most_times(MANY_BAR)),
    ):
        yield from restores("P5", course.main, count, rounds, bar)


def restores(name: str, ground: Ground, count: int, rounds: int, bar: Bar | None) -> Iterator[Figure]:
    """The row of git and those of the others."""
    what = WHAT.format(f"{count:,}", "" if count == 1 else "s")
    times = _turns(ground, count, rounds)
    ours, files = times.ours, ground.files
    told = ground.git.restore_is
    yield Figure(name=name, what=what, files=files, ours=ours, peer=times.git, peer_is=told, bar=bar)
    for other in times.others:
        if other in ground.peers:
            told = ground.peers[other].restore_is
            peer = times.of(other)
            yield Figure(name=name, what=what, files=files, ours=ours, peer=peer, peer_is=told)


def _turns(ground: Ground, count: int, rounds: int) -> Times:
    """In turns: so many files are edited, and somebody takes that back. Everybody has the state before it."""
    times = Times()
    before = ground.settle()
    for name, peer in list(ground.peers.items()):
        ground.time(name, peer.snapshot, Times())
    for number in range(rounds):
        times.add_ours(_ours(ground, count, before))
        for name, peer in list(ground.peers.items()):
            if name == GIT.name or number == 0:
                _peers(ground, name, peer, count, times)
    return times


def _ours(ground: Ground, count: int, before: int) -> float:
    ground.edits.make(count)
    ground.settle()
    return seconds(lambda: ground.workspace.restore(before, timeout=None))


def _peers(ground: Ground, name: str, peer: Peer, count: int, times: Times) -> None:
    """Who writes everything elsewhere takes no edit back: it would be in the way of the next."""
    if peer.restores_in_place:
        ground.edits.make(count)
    ground.time(name, peer.restore, times)
