"""A package install, a checkout, a build: everything at once, and none of it missing afterwards."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from backtraild.watch import Dirt
from backtraild.watch.dirt import MOST_PATHS
from support.live import live
from support.walk import tree_id
from support.watching import watched_inodes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")

PROCESSES = 3
FILES = 30_000
# More than the scan of so many files needs, and less than remembering every event of them would.
MOST_MEMORY = 70 * 1024 * 1024

STORM = """
import os, sys
os.chdir(sys.argv[1])
who, count = int(sys.argv[2]), int(sys.argv[3])
for n in range(count):
    folder = f"old{n % 20}" if n % 2 else f"new{who}/{n // 1000}/{n // 100 % 10}"
    if n % 2 == 0:
        os.makedirs(folder, exist_ok=True)
    name = f"{folder}/{who}-{n}"
    with open(name, "w") as file:
        file.write(f"{who} {n}")
    if n % 3 == 0:
        with open(name, "a") as file:
            file.write(" rewritten")
    if n % 4 == 0:
        os.rename(name, f"old{n % 20}/{who}-{n}-renamed")
for n in range(0, count // 1000, 5):
    os.rename(f"new{who}/{n}", f"new{who}/moved-{n}")
"""


def memory(key: str) -> int:
    """What the kernel says this process uses, in bytes."""
    found = re.search(rf"^{key}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found
    return int(found[1]) * 1024


def test_thirty_thousand_files_at_once_are_all_captured_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Created, rewritten and renamed, in folders old and new, by several processes: no watcher's easy day."""
    gathered = []
    take = Dirt.take

    def taken(self: Dirt):
        found = take(self)
        gathered.append(len(found.paths) + len(found.folders))
        return found

    monkeypatch.setattr(Dirt, "take", taken)
    with live(tmp_path, quiet=0.2, patience=2.0) as at:
        for number in range(20):
            (at.root / f"old{number}").mkdir()
        Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here on
        before = memory("VmRSS")
        each = -(-FILES // PROCESSES)
        storms = [
            subprocess.Popen([sys.executable, "-c", STORM, str(at.root), str(who), str(each)])
            for who in range(PROCESSES)
        ]
        assert [storm.wait(120) for storm in storms] == [0] * PROCESSES
        checkpoint = at.save()
        grown = memory("VmHWM") - before
        assert checkpoint.tree == tree_id(at.root)
        files = at.service.ask(at.id, lambda keeper: keeper.workspace.files)
        print(f"{files} files, {checkpoint.number} checkpoints, {grown >> 20} MB, dirt {max(gathered)}")
        assert files >= FILES
        assert checkpoint.number < 60, "a storm of checkpoints"
        assert max(gathered) <= 2 * MOST_PATHS
        assert grown < MOST_MEMORY
        assert at.save().files_changed_count == 0


def test_thousands_of_neighbouring_folders_come_and_go_and_no_watch_stays(tmp_path: Path):
    """A folder of packages that is not excluded: each is moved in with the others and deleted on its own."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for number in range(4_000):
        os.mkdir(folder / f"p{number}")
        (folder / f"p{number}" / "index.js").write_bytes(b"%d" % number)
    with live(tmp_path, quiet=0.2, patience=2.0) as at:
        os.rename(folder, at.root / "packages")
        assert at.save().tree == tree_id(at.root)
        for number in range(0, 4_000, 2):
            (at.root / f"packages/p{number}/index.js").unlink()
            (at.root / f"packages/p{number}").rmdir()
        assert at.save().tree == tree_id(at.root)
        watched = at.service.ask(at.id, lambda keeper: len(keeper.watcher.watched))
        assert watched == 2_002
        assert len(watched_inodes(at.hub._inotify_fd)) == 2_003
