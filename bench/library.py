"""Figures of the library: first snapshot, one-file save, restore."""

import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from backtraild.model import Intent
from backtraild.workspace import Workspace
from bench.clock import seconds, write_and_sync
from bench.peer import GitPeer
from bench.report import Figure, at_least, at_most
from bench.trees import append_line, make_tree

SAVES = 100
PEER_SAVES = 5
SMALL_TREE = 1_000
MANY = 10_000


class Contest:
    """One tree, watched by Backtrail and by the peer."""

    def __init__(self, folder: Path, files: int) -> None:
        self.root = folder / "tree"
        self.root.mkdir(parents=True)
        self.paths = make_tree(self.root, files)
        self.workspace = Workspace(str(self.root), str(folder / "store"))
        self.peer = GitPeer(self.root, folder / "peer.git")
        self._line = 0

    def first_snapshot(self) -> tuple[float, float]:
        """Ours and the peer's, both from a warm page cache: making the tree has just written it."""
        return seconds(self.workspace.start), seconds(self.peer.snapshot)

    def save_one(self) -> tuple[float, float]:
        """Medians of saving one changed file and, in turn with it because disks have moods, of one write + fsync.

        As the daemon does it, which knows the path from an event.
        """
        saves, syncs = [], []
        for number in range(SAVES):
            path = self.edit(number)
            saves.append(seconds(partial(self.workspace.save, Intent(message="bench"), [path])))
            syncs.append(write_and_sync(self.root.parent))
        return statistics.median(saves), statistics.median(syncs)

    def peer_save_one(self) -> float:
        """Median of the same with the peer."""
        times = []
        for number in range(PEER_SAVES):
            self.edit(number)
            times.append(seconds(self.peer.snapshot))
        return statistics.median(times)

    def edit(self, number: int) -> bytes:
        """Change one file, spread over the tree."""
        path = self.paths[number * 7919 % len(self.paths)]
        self._line += 1
        append_line(self.root, path, self._line)
        return path

    def save_all(self) -> None:
        """Bring both stores to the same state."""
        self.workspace.save(Intent(message="bench"), allow_empty=True)
        self.peer.snapshot()

    def restore(self, files: int) -> tuple[float, float]:
        """Going back over so many differing files, ours and the peer's."""
        self.save_all()
        changed = [self.edit(number) for number in range(files)]
        self.workspace.save(Intent(message="bench"), changed)
        ours = seconds(lambda: self.workspace.restore("@~1", dirty=()))
        for number in range(files):
            self.edit(number)
        return ours, seconds(lambda: self.peer.reset("HEAD"))


def figures(folder: Path, files: int) -> Iterator[Figure]:
    """P1, P2, P3 and P5 at the level of the library: no daemon, no socket."""
    contest = Contest(folder / "large", files)
    ours, peers = contest.first_snapshot()
    yield at_most("P3", "first snapshot, durable", ours, peers, "git add + commit", 0.5)

    large, sync = contest.save_one()
    yield at_least("P1", "save of one changed file", large, contest.peer_save_one(), "git add + commit", 150)
    yield at_most("P1", "save of one changed file", large, sync, "one write + fsync", 20)

    small_contest = Contest(folder / "small", SMALL_TREE)
    small_contest.first_snapshot()
    small, _ = small_contest.save_one()
    yield at_most(
        "P2", f"save of one file, growth from {SMALL_TREE:,} files", large, small, "small tree", 1.3
    )

    ones = [contest.restore(1) for _ in range(5)]
    one, peer_one = (statistics.median(times) for times in zip(*ones, strict=True))
    yield at_least("P5", "restore, one differing file", one, peer_one, "git reset --hard", 50)
    many, peer_many = contest.restore(min(MANY, files // 2))
    yield at_most("P5", f"restore, {MANY:,} differing files", many, peer_many, "git reset --hard", 1.0)
