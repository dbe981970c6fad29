"""What happens on disks that are full; run by `mounts.apart`."""

import contextlib
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from backtrail import Client
from backtrail.errors import BacktrailError, Bug, NothingToDo, RestoreInterrupted
from backtraild import worker
from backtraild.conversing import Talk
from backtraild.model import Checkpoint, Intent
from backtraild.transcripts import Messages
from support.disk import fsck, snapshot
from support.mounts import fill, run, tmpfs
from support.project import Files, files_of
from support.serving import Desk, Site, desk
from support.watching import eventually

DISK = 12 * 1024 * 1024
LAYOUTS = ("store", "workspace", "both")
FULL_WORDS = ("No space left on device", "disk is full", "database or disk is full", "free")


class Ballast:
    """What somebody else puts on a disk: bytes, or files without any."""

    def __init__(self, disk: Path, *, inodes: bool) -> None:
        self._path = disk / ".ballast"
        self._inodes = inodes
        self._count = 0

    def fill(self, left: int = 0) -> None:
        """Leave so many bytes, or no file that could be made; also what was freed meanwhile is taken."""
        if not self._inodes:
            fill(self._path, left)
            return
        with contextlib.suppress(OSError):
            self._path.mkdir(exist_ok=True)
            while True:
                self._count += 1
                (self._path / str(self._count)).touch()

    def free(self) -> None:
        """There is room again."""
        if self._inodes:
            shutil.rmtree(self._path)
        else:
            self._path.unlink()


class Full:
    """A watched folder, and what was promised before and while its disk is full."""

    def __init__(self, at: Desk, site: Site, source: random.Random) -> None:
        self._desk, self._site, self._source = at, site, source
        self.saved: dict[int, Files] = {}
        self.counts = {"refused": 0, "done": 0}

    def try_something(self) -> None:
        """One thing at random. It is done, or it is refused in words and has changed nothing."""
        action = self._source.choice([self.save, self.save, self.talk, self.restore, self.delete, self.write])
        try:
            action()
        except NothingToDo:
            return
        except Bug as error:
            raise AssertionError(f"{action.__name__} found a bug: {error}") from error
        except BacktrailError as error:
            if action == self.delete or not error.message.endswith("."):
                raise AssertionError(f"{action.__name__} failed: {error.message}") from error
            self.counts["refused"] += 1
        else:
            self.counts["done"] += 1

    def write(self) -> None:
        """Somebody goes on working, as far as the disk lets him."""
        with contextlib.suppress(OSError):
            name = self._source.choice(["a", "src/b", "src/c", "d"])
            self._site.write(name, os.urandom(self._source.choice([10, 5000, 50_000])))

    def save(self) -> None:
        """A checkpoint."""
        self.write()
        with self._untouched():
            self._note(self._desk.service.save(self._site.id, Intent(message="save"), allow_empty=True))

    def talk(self) -> None:
        """A checkpoint with what was said."""
        messages = Messages([{"role": "user", "content": "x" * 2000}] * self._source.randint(1, 5))
        intent = Intent(session="s")
        with self._untouched():
            self._note(self._desk.service.save(self._site.id, intent, talk=Talk(messages), allow_empty=True))

    def restore(self) -> None:
        """Back to something, or exactly where it was."""
        number = self._source.choice(list(self.saved))
        before = snapshot(self._site.root)
        try:
            result = self._desk.service.restore(self._site.id, str(number))
        except RestoreInterrupted:  # told, and finished later
            assert snapshot(self._site.root) == self.saved[number]
            raise
        except BacktrailError:
            assert snapshot(self._site.root) == before, f"half of restore {number} is left"
            raise
        assert not result.conflicts
        assert snapshot(self._site.root) == self.saved[number]

    def delete(self) -> None:
        """Space is to be had this way."""
        numbers = sorted(self.saved)[-2:] if self._source.random() < 0.5 else sorted(self.saved)[:2]
        if len(self.saved) > 4:
            self._desk.service.delete(self._site.id, [str(number) for number in numbers])
            for number in numbers:
                del self.saved[number]
                with contextlib.suppress(BacktrailError):
                    self._desk.service.get(self._site.id, str(number))
                    raise AssertionError(f"{number} was deleted, and is there")

    def check_all(self) -> None:
        """What was acknowledged is there, and whole."""
        for number, files in self.saved.items():
            commit = self._desk.service.get(self._site.id, str(number)).id
            assert files_of(self._site.git_dir, commit) == files, number
        fsck(self._site.git_dir)

    def _note(self, made: Checkpoint) -> None:
        self.saved[made.number] = snapshot(self._site.root)

    @contextlib.contextmanager
    def _untouched(self) -> Iterator[None]:
        before = snapshot(self._site.root)
        yield
        assert snapshot(self._site.root) == before, "a save has changed the workspace"


def fill_while_busy(number: int, where: str) -> dict[str, float]:
    """A disk is filled at a random moment, to a random level, and freed again."""
    source = random.Random(number)
    layout, inodes = LAYOUTS[number % 3], number % 5 == 0
    with _world(Path(where), layout, inodes=inodes) as (at, site, disk):
        full, ballast = Full(at, site, source), Ballast(disk, inodes=inodes)
        for _ in range(6):
            full.save()
        ballast.fill(source.choice([0, 0, 4096, 20_000, 100_000]))
        for _ in range(source.randint(4, 12)):
            full.try_something()
        ballast.free()
        site.write("after", b"there is room again")
        eventually(lambda: site.state == "watching", 10, f"it does not recover by itself: {site.reasons()}")
        site.wait_for("after", b"there is room again", 10)
        assert site.captured() == snapshot(site.root)
        full.check_all()
        _check_after_restart(at, site, full)
        return {"disks filled": 1, **full.counts, "checkpoints acknowledged": len(full.saved)}


def _check_after_restart(at: Desk, site: Site, full: Full) -> None:
    at.restart()
    assert site.state == "watching", site.reasons()
    full.check_all()


def degraded_and_back(where: str) -> None:
    """Automatic checkpoints fail, it is told, and they go on when there is room."""
    with _world(Path(where), "store") as (at, site, disk):
        ballast = Ballast(disk, inodes=False)
        ballast.fill()
        site.write("a", os.urandom(100_000))
        eventually(lambda: site.state == "degraded", 10)
        eventually(lambda: any(word in site.reasons() for word in FULL_WORDS), 5, site.reasons())
        assert str(site.store) in site.reasons(), f"which disk? {site.reasons()}"
        wanted = site.write("b", os.urandom(1000)).read_bytes()
        ballast.free()
        eventually(lambda: site.state == "watching", 10, site.reasons())
        site.wait_for("b", wanted)
        assert site.captured() == snapshot(site.root)
        eventually(lambda: at.events("recovered"), 5)
        assert at.events("degraded")


def freeing_at_nothing(where: str, inodes: bool) -> None:
    """Deleting, pruning and purging work with not one byte or inode left, the newest checkpoint included."""
    with _world(Path(where), "store", inodes=inodes, max_checkpoints=5) as (at, site, disk):
        full, ballast = Full(at, site, random.Random(1)), Ballast(disk, inodes=inodes)
        for _ in range(4):
            full.save()
        numbers = sorted(full.saved)
        ballast.fill()
        at.service.delete(site.id, [str(numbers[0])])
        ballast.fill()
        at.service.delete(site.id, [str(numbers[-1])])
        ballast.fill()
        at.service.prune(site.id)
        left = {made.number for made in site.checkpoints()}
        assert not left & {numbers[0], numbers[-1]}, left
        ballast.free()
        eventually(lambda: len(at.events("checkpoint_deleted")) == 2, 10, "it is never told")
        made = at.service.save(site.id, Intent(message="after"), allow_empty=True)
        assert made.number > numbers[-1], "a number came twice"
        ballast.fill()
        at.service.unwatch(site.id, purge=True)
        assert not site.store.exists()
        assert not at.service.workspaces()


@contextlib.contextmanager
def _world(folder: Path, layout: str, *, inodes: bool = False, **settings: Any) -> Iterator[Any]:
    """A service with its home, its workspace, or both on a small disk."""
    worker.RETRY_SECONDS = 0.2
    disk = tmpfs(folder / "disk", DISK, 400 if inodes else 0)
    for name, part in (("home", "store"), ("work", "workspace")):
        (folder / name).mkdir()
        if layout in (part, "both"):
            (disk / name).mkdir()
            run("mount", "--bind", disk / name, folder / name)
    with desk(folder, min_free_bytes=0, **settings) as at:
        yield at, at.watch(), disk


def start_on_full(where: str, inodes: bool) -> None:
    """A daemon is started on a full disk: it works as far as that goes, or says what is wrong and ends."""
    folder = Path(where)
    disk = tmpfs(folder / "disk", DISK, 400 if inodes else 0)
    home, root = disk / "home", folder / "work"
    root.mkdir()
    (root / "a").write_text("1")
    output = folder / "output"
    first = _started(home, output)
    with Client(home=home, autostart=False) as client:
        eventually(lambda: _answers(client))
        client.watch(root)
        client.stop()
    assert first.wait(60) == 0
    (root / "a").write_text("2")
    ballast = Ballast(disk, inodes=inodes)
    ballast.fill()
    _check_words(home, output)
    ballast.free()
    last = _started(home, output)
    with Client(home=home, autostart=False) as client:
        eventually(lambda: _answers(client))
        workspace = client.workspace(root)
        eventually(lambda: workspace.read("@", "a") == b"2")
        eventually(lambda: workspace.status().state == "watching")
        assert workspace.get(1).kind == "baseline"
        client.stop()
    assert last.wait(60) == 0


def _check_words(home: Path, output: Path) -> None:
    """It ends with a sentence, or it answers and says what is wrong."""
    process = _started(home, output)
    with Client(home=home, autostart=False, timeout=5) as client:
        eventually(lambda: process.poll() is not None or _answers(client))
        if process.poll() is None:
            eventually(lambda: client.workspaces()[0].state == "degraded", 20, output.read_text())
            process.terminate()
            assert process.wait(60) == 0, output.read_text()
        else:
            assert any(word in output.read_text() for word in FULL_WORDS), output.read_text()
    assert "Traceback" not in output.read_text(), output.read_text()


def _started(home: Path, output: Path) -> "subprocess.Popen[bytes]":
    with open(output, "wb") as file:
        return subprocess.Popen(
            [sys.executable, "-m", "backtraild"],
            env={**os.environ, "BACKTRAIL_HOME": str(home)},
            stdout=file,
            stderr=file,
        )


def _answers(client: Client) -> bool:
    with contextlib.suppress(BacktrailError):
        client.ping()
        return True
    return False
