"""P1: what it takes to save one changed file, durably, through the client."""

import os
from collections.abc import Iterator

from bench.clock import seconds, write_and_sync
from bench.course import Course
from bench.figure import Figure, at_most_times, faster
from bench.ground import Ground, Times
from bench.peers import GIT
from bench.sample import Sample, sample

WHAT = "save of one changed file, durable"
IN_A_ROW = "the same at once after the answer to the one before"
SYNC_IS = "one write + fsync"
BAR, SYNC_BAR = 150, 20


def figures(course: Course) -> Iterator[Figure]:
    """Beside git, beside the disk's own speed, and beside the others."""
    times, syncs = saves(course.main, course.effort.saves, course.effort.others_every)
    peers = course.main.peers
    yield Figure(
        name="P1",
        what=WHAT,
        ours=times.ours,
        peer=times.git,
        peer_is=peers[GIT.name].snapshot_is,
        bar=faster(BAR),
    )
    yield Figure(
        name="P1", what=WHAT, ours=times.ours, peer=syncs, peer_is=SYNC_IS, bar=at_most_times(SYNC_BAR)
    )
    yield from beside_others("P1", WHAT, times, course.main)
    yield Figure(name="P1", what=IN_A_ROW, ours=saves_in_a_row(course.main, course.effort.saves))


def saves(ground: Ground, rounds: int, others_every: int) -> tuple[Times, Sample]:
    """In turns: an edit, our save of it, one write + fsync, and the peers' snapshots with the same edit."""
    times, syncs = Times(), []
    for number in range(rounds):
        times.add_ours(one_save(ground))
        syncs.append(write_and_sync(ground.ours.home))
        ground.time(GIT.name, ground.git.snapshot, times)
        if number % others_every == 0:
            for name, peer in ground.others:
                ground.time(name, peer.snapshot, times)
    return times, sample(syncs)


def saves_in_a_row(ground: Ground, rounds: int) -> Sample:
    """Without a rest: each has to wait for what the one before has left until nobody waits."""
    times = Times()
    for _ in range(rounds):
        ground.edits.make()
        times.add_ours(seconds(lambda: ground.workspace.save("bench")))
    return times.ours


def one_save(ground: Ground) -> float:
    """Edit a file and save at once, as agents do; the edit is not on the disk yet when the save begins."""
    os.sync()
    ground.edits.make()
    return seconds(lambda: ground.workspace.save("bench"))


def beside_others(name: str, what: str, times: Times, ground: Ground) -> Iterator[Figure]:
    """The rows of the peers that have no bar."""
    for other in times.others:
        if other in ground.peers:
            told = ground.peers[other].snapshot_is
            peer, files = times.of(other), ground.files
            yield Figure(name=name, what=what, files=files, ours=times.ours, peer=peer, peer_is=told)
