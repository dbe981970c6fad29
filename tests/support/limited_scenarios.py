"""What happens in a process with mounts and a limit of watches of its own; run by `limited.run_limited`."""

import subprocess
import time
from pathlib import Path

from backtraild import timers, worker
from backtraild.watch import polling
from support.limited import INSTANCES, set_limit
from support.live import live
from support.watching import eventually, inodes, tree, watched_inodes


def too_many_folders(folder: Path) -> None:
    """Sixty folders and thirty watches; later the limit is raised."""
    timers.UNWATCHED_SECONDS = 0.2
    set_limit(30)
    root = folder / "work"
    for number in range(60):
        (root / f"f{number}").mkdir(parents=True)
    with live(folder, root) as at:
        assert len(watched_inodes(at.hub._inotify_fd)) == 30
        assert at.state == "degraded"
        limit = 2 * int(Path("/proc/sys/fs/inotify/max_user_watches").read_text())
        assert f"`sudo sysctl fs.inotify.max_user_watches={limit}`" in at.reasons
        assert at.reasons.startswith("32 folders can't be watched"), at.reasons
        for path in tree(root):
            (path / "file").write_text("looked at on a timer")
        at.wait_for_disk()
        for path in tree(root):
            (path / "file").write_text("in a save, whether it is watched or not")
        assert at.save().tree == at.disk()
        set_limit(10_000)
        eventually(lambda: at.state == "watching")
        assert watched_inodes(at.hub._inotify_fd) == inodes(*tree(root), folder / "home/run/cookies")
        eventually(lambda: at.events("recovered"))
        for path in tree(root):
            (path / "file").write_text("seen")
        at.wait_for_disk()


def no_watch_at_all(folder: Path) -> None:
    """Another program has used all watches up before the daemon starts."""
    timers.UNWATCHED_SECONDS = 0.2
    set_limit(0)
    (folder / "work").mkdir()
    with live(folder) as at:
        assert at.state == "degraded"
        (at.root / "file").write_text("looked at on a timer")
        at.wait_for_disk()
        (at.root / "file").write_text("in a save")
        start = time.monotonic()
        assert at.save().tree == at.disk()
        assert time.monotonic() - start < 1.5, "waited for a cookie that nobody watches"
        set_limit(10_000)
        eventually(lambda: at.state == "watching")
        (at.root / "file").write_text("seen")
        at.wait_for_disk()


def no_instance(folder: Path) -> None:
    """Not even one inotify descriptor can be had."""
    polling.INTERVAL = 0.3
    INSTANCES.write_text("0")
    with live(folder) as at:
        assert at.state == "degraded"
        assert "inotify can't be used (inotify instance limit reached)" in at.reasons
        (at.root / "file").write_text("looked at on a timer")
        at.wait_for_disk()


def run(*command: object) -> None:
    """A command that must succeed."""
    subprocess.run([str(part) for part in command], check=True)


def unmounted_below(folder: Path) -> None:
    """A disk is mounted in the workspace and goes away; the folder under it is used from then on."""
    disk = folder / "work" / "disk"
    disk.mkdir(parents=True)
    run("mount", "-t", "tmpfs", "none", disk)
    (disk / "on-disk").write_text("1")
    with live(folder) as at:
        assert watched_inodes(at.hub._inotify_fd) == inodes(at.root, disk, folder / "home/run/cookies")
        run("umount", disk)
        at.wait_for_disk()
        (disk / "under-it").write_text("2")
        at.wait_for_disk()
        assert watched_inodes(at.hub._inotify_fd) == inodes(at.root, disk, folder / "home/run/cookies")


def unmounted_root(folder: Path) -> None:
    """The workspace's own disk goes away and comes back."""
    worker.RETRY_SECONDS = 0.1
    content, root = folder / "content", folder / "work"
    content.mkdir()
    root.mkdir()
    (content / "file").write_text("1")
    run("mount", "-t", "tmpfs", "none", content)
    (content / "file").write_text("1")
    run("mount", "--bind", content, root)
    with live(folder) as at:
        tree_before, number = at.newest().tree, at.newest().number
        run("umount", root)
        (content / "file").write_text("2")  # seen through the watch that stays, since the disk is in use
        eventually(lambda: at.state == "degraded")
        run("mount", "--bind", content, root)
        eventually(lambda: at.state == "watching")
        at.wait_for_disk()
        (root / "file").write_text("3")
        at.wait_for_disk()
        assert tree_before != at.newest().tree
        deleted = [event for event in at.events("checkpoint_created") if "deleted" in event["message"]]
        assert not deleted, deleted
        assert at.newest().number == number + 2
