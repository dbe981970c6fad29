"""P3: the first snapshot of a tree, and what it takes on the disk."""

from collections.abc import Iterator

from bench.course import Course
from bench.figure import Figure, Unit, at_most_times
from bench.figures.saving import beside_others
from bench.ground import Ground
from bench.machine import disk_bytes
from bench.sample import single

WHAT = "first snapshot, durable"
SIZE = "store on the disk so far"
BAR = 0.5


def figures(course: Course) -> Iterator[Figure]:
    """Everybody made it when the tree was new; all read it from a warm page cache."""
    ground = course.main
    yield Figure(
        name="P3",
        what=WHAT,
        ours=ground.first.ours,
        peer=ground.first.git,
        peer_is=ground.git.snapshot_is,
        bar=at_most_times(BAR),
    )
    yield from beside_others("P3", WHAT, ground.first, ground)
    yield from sizes("P3", ground)


def sizes(name: str, ground: Ground) -> Iterator[Figure]:
    """What the stores take, after the same snapshots or fewer."""
    ours = single(disk_bytes(ground.store))
    for other, peer in ground.peers.items():
        taken = single(peer.size())
        yield Figure(
            name=name,
            what=SIZE,
            files=ground.files,
            unit=Unit.BYTES,
            ours=ours,
            peer=taken,
            peer_is=other,
        )
