"""Watching seen from outside: what the kernel watches, a reader that can be held, a workspace without a worker."""

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from backtrail.errors import NothingToDo
from backtraild.model import Checkpoint, Intent, WorkspaceConfig
from backtraild.watch import Dirt
from backtraild.watch.inotify import InotifyHub
from backtraild.workspace import Workspace
from support.disk import git_tree_id

# The kernel's queue, and what the reader may have taken out of it before it was held.
_QUEUE = Path("/proc/sys/fs/inotify/max_queued_events")
_READ_AHEAD = 8_000


def eventually(condition: Callable[[], object], seconds: float = 20.0, why: str = "") -> None:
    """Wait until something holds; fail if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, why or f"not within {seconds} s"
        time.sleep(0.005)


def watched_inodes(descriptor: int) -> list[int]:
    """The inodes of an inotify descriptor's watches, from the kernel itself."""
    text = Path(f"/proc/self/fdinfo/{descriptor}").read_text()
    return sorted(int(found, 16) for found in re.findall(r"^inotify wd:\S+ ino:(\S+)", text, re.MULTILINE))


def inodes(*folders: Path) -> list[int]:
    """What `watched_inodes` gives where these folders are watched, each once."""
    return sorted(folder.stat().st_ino for folder in folders)


def tree(root: Path, excluded: tuple[str, ...] = ("node_modules", ".git")) -> list[Path]:
    """A folder and all below it, except those of excluded names and what is in them."""
    found = []
    for top, folders, _ in os.walk(root):
        folders[:] = [name for name in folders if name not in excluded]
        found.append(Path(top))
    return found


class Watched:
    """A workspace with its watches and its dirt, and nobody who acts on it but the test."""

    def __init__(self, folder: Path, hub: InotifyHub | None = None, root: Path | None = None) -> None:
        self.folder = folder
        self.root = root or folder / "work"
        self.root.mkdir(exist_ok=True)
        self.cookies = folder / "cookies"
        self._own_hub = hub is None
        self.hub = hub or InotifyHub(str(self.cookies))
        self.hub.watch_cookies()
        self.dirt = Dirt()
        self.watcher = self.hub.attach(self.dirt)
        self.workspace = Workspace(str(self.root), str(folder / "store"), WorkspaceConfig(), self.watcher)

    def __enter__(self) -> "Watched":
        return self

    def __exit__(self, *_: object) -> None:
        self.watcher.close()
        self.workspace.close()
        if self._own_hub:
            self.hub.stop_reading()

    def start(self) -> None:
        """Take the baseline and forget how it came to be."""
        self.workspace.start()
        self.seen()

    def seen(self) -> frozenset[bytes]:
        """The paths that were marked by all that happened until now; they are taken out."""
        assert self.watcher.barrier(10)
        taken = self.dirt.take()
        assert taken.reason is None
        return taken.paths

    def crawl(self) -> None:
        """Watch the folders that appeared, as a worker does at once."""
        assert self.watcher.barrier(10)
        for folder in self.dirt.take_folders():
            self.workspace.enter_folder(folder)

    def save(self) -> Checkpoint:
        """A checkpoint of what the watcher reported, and of nothing else."""
        assert self.watcher.barrier(10)
        taken = self.dirt.take()
        try:
            return self.workspace.save(Intent(), None if taken.reason else taken.paths)
        except NothingToDo:
            return self.workspace.history.find("@")

    def kernel(self) -> list[int]:
        """The inodes that the kernel watches for us, without the cookies' folder."""
        found = watched_inodes(self.hub._inotify_fd)
        found.remove(self.cookies.stat().st_ino)
        return found

    def check_watches(self, excluded: tuple[str, ...] = ("node_modules", ".git")) -> None:
        """Exactly one watch for each captured folder, and none elsewhere."""
        captured = tree(self.root, excluded)
        assert self.kernel() == inodes(*captured)
        assert len(self.watcher.watched) == len(captured)
        assert not self.watcher.unwatched

    def check_tree(self, checkpoint: Checkpoint) -> None:
        """The checkpoint is what git sees on the disk."""
        assert checkpoint.tree == git_tree_id(self.root, self.folder / "peer.git")


@contextlib.contextmanager
def held(hub: InotifyHub) -> Iterator[None]:
    """Keep everybody from reading and handling events, as on a machine that is too busy for it."""
    with hub._emptying:
        yield


@contextlib.contextmanager
def noticing_barriers(hub: InotifyHub) -> Iterator[threading.Event]:
    """Tells that somebody wants to pass a barrier."""
    wanted, barrier = threading.Event(), hub.barrier

    def noticed(seconds: float) -> bool:
        wanted.set()
        return barrier(seconds)

    hub.barrier = noticed  # type: ignore[method-assign]
    yield wanted
    del hub.barrier


def flood(folder: Path) -> None:
    """More events than the kernel's queue holds, and not one change: two excluded files get new times.

    Others may be at work in the folder and move or delete them, as they do with all files they find.
    """
    names = [folder / "one.pyc", folder / "other.pyc"]
    for number in range(int(_QUEUE.read_text()) + _READ_AHEAD):
        try:
            os.utime(names[number % 2], ns=(number, number))
        except FileNotFoundError:
            # Somebody was faster, and made a folder of that name.
            with contextlib.suppress(IsADirectoryError):
                names[number % 2].touch()
    for name in names:
        with contextlib.suppress(OSError):
            name.unlink()


def overflow(hub: InotifyHub, folder: Path) -> None:
    """Let the kernel's queue run over while nobody reads it."""
    with held(hub):
        flood(folder)
