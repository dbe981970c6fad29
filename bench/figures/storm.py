"""P11: very many files appear at once. Is any of them missed, and does the daemon answer meanwhile?"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.clock import seconds
from bench.course import Course
from bench.figure import Figure, Unit, at_most
from bench.ground import Ground, Times
from bench.peers import GIT
from bench.peers.git import listed
from bench.peers.peer import run
from bench.sample import Sample, sample, single

BASE_FILES = 1_000
BAR_SECONDS = 0.050
PAUSE_SECONDS = 0.005
_PROJECT = Path(__file__).parents[2]
_WRITER = "import sys; from pathlib import Path; from bench.trees import make_tree; "
_WRITER += "make_tree(Path(sys.argv[1]), int(sys.argv[2]), seed=11)"


def figures(course: Course) -> Iterator[Figure]:
    """Another process writes a tree into a watched folder, as a package install does."""
    files = min(course.effort.storm_files, course.files)
    ground = course.ground(BASE_FILES, "storm")
    with ThreadPoolExecutor() as pool:
        writing = pool.submit(_write, ground.root / "storm", files)
        pings = list(_pings(ground, writing.done))
        writing.result()
        saving = pool.submit(seconds, lambda: ground.workspace.save("storm"))
        pings += _pings(ground, saving.done)
    yield from _told(ground, files, sample(pings), saving.result())


def _told(ground: Ground, files: int, pings: Sample, saved: float) -> Iterator[Figure]:
    times = Times()
    ground.time(GIT.name, ground.git.snapshot, times)
    what = f"{files:,} files appear at once"
    yield Figure(
        name="P11", what=f"{what}: missed", unit=Unit.COUNT, ours=single(_missed(ground)), bar=at_most(0)
    )
    yield Figure(
        name="P11", what=f"{what}: ping meanwhile, p99", quantile=0.99, ours=pings, bar=at_most(BAR_SECONDS)
    )
    yield Figure(
        name="P11",
        what=f"{what}: all captured, after the last one",
        ours=single(saved),
        peer=times.git,
        peer_is=ground.git.snapshot_is,
    )


def _write(root: Path, files: int) -> None:
    root.mkdir()
    subprocess.run([sys.executable, "-c", _WRITER, str(root), str(files)], cwd=_PROJECT, check=True)


def _pings(ground: Ground, is_over: Callable[[], bool]) -> Iterator[float]:
    while not is_over():
        yield seconds(ground.ours.client.ping)
        time.sleep(PAUSE_SECONDS)


def _missed(ground: Ground) -> int:
    """Files that git finds on the disk and our newest checkpoint has not, or has otherwise."""
    newest = ground.workspace.get("@").id
    ours = run(["git", "ls-tree", "-r", "-z", newest], ground.repository, {})
    return len(ground.git.entries() ^ listed(ours))
