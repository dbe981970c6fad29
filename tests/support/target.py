"""A daemon with something to lose, and proof that nothing was lost: for rounds that attack it."""

import contextlib
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.disk import fsck
from support.outside import Outside, outside
from support.vitals import MEGABYTE, Vitals, back_to, has_loaded_all
from support.watching import eventually
from support.wire import Wire

PING_SECONDS = 1.0
# All of a pool's threads are started by so many requests at a time.
_AT_A_TIME = 64


class Target:
    """The daemon, its one workspace with two checkpoints, and how it was before anything was done to it."""

    def __init__(self, daemon: Outside, root: Path) -> None:
        self.daemon, self.root = daemon, root
        (root / "folder").mkdir(parents=True)
        (root / "folder" / "file").write_text("one\n")
        (root / "large").write_bytes(bytes(8 * MEGABYTE))
        with daemon.wire() as wire:
            watched = wire.result("watch", path=str(root), auto_checkpoint=False)
            self.workspace = watched["workspace"]
            (root / "folder" / "file").write_text("two\n")
            wire.result("save", workspace=self.workspace, session="s", turn=1)
            warm_up(wire, self.workspace)
            for _ in range(5):
                wire.result("read", workspace=self.workspace, checkpoint="@:large")
        eventually(lambda: has_loaded_all(daemon.pid))
        eventually(lambda: Vitals.of(daemon.pid).descriptors < 100)
        self._kept = self._state()
        self._vitals = Vitals.of(daemon.pid)

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """What a well-behaved client gets."""
        with self.daemon.wire() as wire:
            return wire.result(method, workspace=self.workspace, **params)

    def check_alive(self, after: str) -> None:
        """A ping comes back in time."""
        with self.daemon.wire() as wire:
            begun = time.monotonic()
            wire.send("ping")
            answer = wire.receive(PING_SECONDS)
        assert answer["result"]["pid"] == self.daemon.pid, after
        assert time.monotonic() - begun < PING_SECONDS, after

    def check_unharmed(self) -> int:
        """Nothing was lost, nothing is left over, and the daemon works; by how many bytes it has grown."""
        assert "Traceback" not in self.daemon.process.said(), self.daemon.process.said()[-4000:]
        assert self._state() == self._kept
        now = back_to(self._vitals, self.daemon.pid)
        self._check_working()
        return max(0, now.memory - self._vitals.memory)

    def check_memory(self) -> None:
        """Whatever was taken in the meantime is given back."""
        back_to(self._vitals, self.daemon.pid)

    def _state(self) -> tuple[object, ...]:
        files = {
            str(path.relative_to(self.root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.root.rglob("*"))
            if path.is_file()
        }
        listed = self.ask("list")["checkpoints"]
        return files, [(each["number"], each["id"], each["tree"]) for each in listed]

    def _check_working(self) -> None:
        (self.root / "folder" / "file").write_text("three\n")
        saved = self.ask("save")
        assert [change["path"] for change in saved["files_changed"]] == ["folder/file"]
        self.ask("restore", checkpoint="1")
        assert (self.root / "folder" / "file").read_text() == "one\n"
        fsck(Path(self.ask("status")["store"], "repo.git"))


def warm_up(wire: Wire, workspace: str) -> None:
    """Threads are started with the first work for them, and the first answers leave some memory behind."""
    for method, params in (
        ("workspaces", {}),
        ("status", {"workspace": workspace}),
        ("timeline", {"workspace": workspace, "type": "file"}),
    ):
        for _ in range(_AT_A_TIME):
            wire.send(method, **params)
        for _ in range(_AT_A_TIME):
            assert "result" in wire.receive()


@contextlib.contextmanager
def target(folder: Path, configuration: str = "") -> Iterator[Target]:
    """A daemon for the time of a round; none is left afterwards."""
    with outside(folder / "home", configuration=configuration) as daemon:
        yield Target(daemon, folder / "work")
