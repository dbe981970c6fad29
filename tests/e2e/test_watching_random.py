"""After a barrier the newest checkpoint is the disk, whatever happened before: events lost, daemon killed."""

import os
import random
import shutil
import signal
import sys
from pathlib import Path

import pytest

from support.disk import fsck
from support.git import git
from support.live import Daemon, Live, configure, live, places_in
from support.walk import tree_id_by_gitignore
from support.watching import eventually, flood, held, inodes, watched_inodes
from support.writers import writers

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

# Three processes make so many edits in each round: 36 * 3 * 20 are 2,160.
ROUNDS = int(os.environ.get("BACKTRAIL_EXAMPLES", "36"))
EDITS = 20
KILLS = max(4, ROUNDS // 9)
PATTERNS = ["*.bin", "data_dir/", "/app_dir", "*.py", "a*", "readme.txt", "moved_*/", "sp ace*", "main.*"]


@pytest.mark.parametrize("seed", [int(os.environ.get("BACKTRAIL_SEED", "20261116")), None])
def test_nothing_is_missed_by_a_daemon_that_is_disturbed_in_every_way(tmp_path: Path, seed: int | None):
    """This is the promise, whatever several programs do at once, and whatever the kernel does not tell."""
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    print(f"BACKTRAIL_SEED={seed}")
    chooser = random.Random(seed)
    outside = tmp_path / "outside"
    outside.mkdir()
    with live(tmp_path, patience=0.3) as at, writers(at.root, seed) as working:
        for number in range(ROUNDS // 2):
            working.begin(EDITS)
            done = [disturb(at, outside, chooser) for _ in range(chooser.randrange(3))]
            working.finish()
            checkpoint = at.save()
            told = f"round {number} after {done}"
            assert checkpoint.tree == tree_id_by_gitignore(at.root, tmp_path / "peer.git"), told
            if chooser.random() < 0.3:
                check_watches(at, told)
        assert working.steps == 3 * EDITS * (ROUNDS // 2)
        assert at.service.worker(at.id).health.reasons == []
        store = places_in(tmp_path).store(at.id) / "repo.git"
    fsck(store)


def disturb(at: Live, outside: Path, chooser: random.Random) -> str:
    """Something that makes watching hard, while others are at work."""
    action = chooser.choice([overflow, restart, ignore, ignore, move_out, move_in, replace_folder])
    try:
        action(at, outside, chooser)
    except OSError as error:  # somebody was faster
        return f"{action.__name__} failed: {error}"
    return action.__name__


def folders(root: Path) -> list[Path]:
    """All folders below one."""
    return sorted(Path(top) for top, _, _ in os.walk(root) if top != str(root))


def overflow(at: Live, outside: Path, chooser: random.Random) -> None:
    with held(at.hub):
        flood(at.root)


def restart(at: Live, outside: Path, chooser: random.Random) -> None:
    at.restart()


def ignore(at: Live, outside: Path, chooser: random.Random) -> None:
    file = chooser.choice([at.root, *folders(at.root)]) / ".gitignore"
    if file.is_file() and chooser.random() < 0.5:
        file.unlink()
    else:
        patterns = chooser.sample(PATTERNS, chooser.randrange(1, 4))
        file.write_text("".join(chooser.choice(["", "!"]) + pattern + "\n" for pattern in patterns))


def move_out(at: Live, outside: Path, chooser: random.Random) -> None:
    if found := folders(at.root):
        os.rename(chooser.choice(found), outside / f"{chooser.randrange(10**9)}")


def move_in(at: Live, outside: Path, chooser: random.Random) -> None:
    if found := sorted(outside.iterdir()):
        os.rename(chooser.choice(found), chooser.choice([at.root, *folders(at.root)]) / "moved_in")


def replace_folder(at: Live, outside: Path, chooser: random.Random) -> None:
    if found := folders(at.root):
        old = chooser.choice(found)
        shutil.copytree(old, outside / "copy", symlinks=True)
        os.rename(old, outside / f"{chooser.randrange(10**9)}")
        os.rename(outside / "copy", old)


def check_watches(at: Live, told: str) -> None:
    """As many watches as captured folders; which those are is what git says, plus empty ones."""
    watched = at.service.ask(at.id, lambda keeper: sorted(keeper.watcher.watched))
    paths = [at.root / os.fsdecode(path) for path in watched]
    kernel = inodes(*paths, places_in(at.folder).cookies)
    assert watched_inodes(at.hub._inotify_fd) == kernel, told
    captured = {os.path.dirname(path) for path in captured_files(at)}
    assert captured <= set(watched), told


def captured_files(at: Live) -> list[bytes]:
    store = places_in(at.folder).store(at.id) / "repo.git"
    return git("ls-tree", "-r", "-z", "--name-only", at.newest().tree, git_dir=store).split(b"\0")[:-1]


def test_nothing_is_missed_by_a_daemon_that_is_killed_stopped_and_started(tmp_path: Path):
    """kill -9 at any moment, or a machine so busy that the daemon does not run while thousands of events come."""
    seed = int(os.environ.get("BACKTRAIL_SEED", random.SystemRandom().randrange(2**32)))
    print(f"BACKTRAIL_SEED={seed}")
    chooser = random.Random(seed)
    root = tmp_path / "work"
    root.mkdir()
    configure(tmp_path, quiet=0.02, patience=0.2)
    with writers(root, seed) as working:
        for _ in range(KILLS):
            daemon = Daemon(tmp_path, root)
            for _ in range(2):
                working.begin(EDITS)
                if chooser.random() < 0.5:
                    with daemon.stopped():
                        flood(root)
                working.finish()
            if chooser.random() < 0.5:
                working.begin(EDITS)
                daemon.end(signal.SIGKILL)
                working.finish()
                daemon = Daemon(tmp_path, root)
                eventually(lambda: newest_tree(tmp_path) == tree_id_by_gitignore(root, tmp_path / "peer.git"))
            assert daemon.end(signal.SIGTERM) == 0, daemon.log()
            assert newest_tree(tmp_path) == tree_id_by_gitignore(root, tmp_path / "peer.git"), daemon.log()
            assert "Traceback" not in daemon.log(), daemon.log()
    fsck(store_of(tmp_path))


def store_of(folder: Path) -> Path:
    """The only store of a daemon."""
    (store,) = (places_in(folder).data / "workspaces").glob("*/repo.git")
    return store


def newest_tree(folder: Path) -> str:
    """The newest checkpoint's tree, told by git."""
    listed = git("for-each-ref", "--format=%(refname) %(tree)", "refs/checkpoints", git_dir=store_of(folder))
    rows = [line.split() for line in listed.decode().splitlines()]
    return max((int(name.rpartition("/")[2]), tree) for name, tree in rows)[1]
