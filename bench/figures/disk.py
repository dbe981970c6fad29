"""P7: the store after many checkpoints of one file each, before and after maintenance."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from backtrail import Workspace
from bench.course import Course
from bench.figure import Figure, Unit, at_most_times
from bench.machine import MEGABYTE, disk_bytes
from bench.ours import Ours
from bench.peers.git import fast_history
from bench.peers.peer import run
from bench.sample import single

BEFORE_BAR, AFTER_BAR = 3.0, 1.1
PEER_IS = "the same history after git gc"
_LOOK_SECONDS = 1.0
# A merge is over when the packs have been the same for so long.
_CALM_SECONDS = 15.0

Version = tuple[bytes, bytes]


def figures(course: Course) -> Iterator[Figure]:
    """A store of its own on the main tree; the one that is there stands aside."""
    ground = course.main
    ground.settle()
    ground.ours.stop()
    try:
        first = [(path, _content(ground.root, path)) for path in ground.paths]
        with Ours(course.folder / "disk") as ours:
            workspace = ours.watch(ground.root)
            edits = [_edited(course, workspace) for _ in range(course.effort.checkpoints)]
            yield from _measured(course, workspace, first, edits)
    finally:
        ground.ours.start()


def _measured(
    course: Course, workspace: Workspace, first: list[Version], edits: list[Version]
) -> Iterator[Figure]:
    store = Path(workspace.status().store)
    packs, before, note = _packs(store), disk_bytes(store), _share(store)
    peer = single(_peers_size(course.folder / "disk.git", first, edits))
    what = f"store after {len(edits):,} one-file checkpoints"
    yield Figure(
        name="P7",
        what=f"{what}, before maintenance",
        unit=Unit.BYTES,
        ours=single(before),
        peer=peer,
        peer_is=PEER_IS,
        bar=at_most_times(BEFORE_BAR),
        note=f"{len(packs):,} packs; {note}",
    )
    took = _await_upkeep(store, packs, course.effort.upkeep_seconds)
    done = f"after {took:.0f} s" if took is not None else "it did not come in time"
    yield Figure(
        name="P7",
        what=f"{what}, after maintenance",
        unit=Unit.BYTES,
        ours=single(disk_bytes(store)),
        peer=peer,
        peer_is=PEER_IS,
        bar=at_most_times(AFTER_BAR),
        note=f"{len(_packs(store)):,} packs, {done}; {_share(store)}",
    )


def _edited(course: Course, workspace: Workspace) -> Version:
    (path,) = course.main.edits.make()
    workspace.save("bench")
    return path, _content(course.main.root, path)


def _content(root: Path, path: bytes) -> bytes:
    return (root / os.fsdecode(path)).read_bytes()


def _peers_size(repository: Path, first: list[Version], edits: list[Version]) -> int:
    fast_history(repository, first, edits)
    # What was imported keeps the poor deltas of the import; a history of commits would have git's own.
    run(["git", "repack", "-adfq"], repository, {"GIT_DIR": str(repository)})
    run(["git", "gc", "--quiet", "--prune=now"], repository, {"GIT_DIR": str(repository)})
    return disk_bytes(repository)


def _packs(store: Path) -> set[str]:
    return {path.name for path in (store / "repo.git" / "objects" / "pack").glob("*.pack")}


def _share(store: Path) -> str:
    return f"{disk_bytes(store / 'repo.git') / MEGABYTE:.1f} MB of it git's"


def _await_upkeep(store: Path, before: set[str], patience: float) -> float | None:
    """Until the daemon has merged packs, of its own accord, and goes no further; None if it does not."""
    started = changed = time.monotonic()
    packs = before
    while (now := time.monotonic()) - started < patience:
        found = _packs(store)
        if found != packs:
            packs, changed = found, now
        elif packs != before and now - changed > _CALM_SECONDS:
            return changed - started
        time.sleep(_LOOK_SECONDS)
    return None if packs == before else changed - started
