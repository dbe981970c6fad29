"""A tree with ours and the peers on it. One of them works at a time, and pays for nobody else."""

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from backtrail import Workspace
from bench.clock import on_calm_disk
from bench.machine import Memory
from bench.ours import Ours
from bench.peers import GIT, Opener, Peer, PeerFailed
from bench.peers.git import Git
from bench.sample import Sample, sample
from bench.trees import Edits

SETTLE_MESSAGE = "so far"
# Ours leaves some of its work until nobody waits. Stopped before that, it would have it to do at its next turn, which
# no user makes it do: between two requests of an agent there is more time than this.
REST_SECONDS = 0.02


class Ground:
    """Everybody has made the first snapshot of the tree, so many times over; what that took is kept."""

    def __init__(
        self, folder: Path, root: Path, paths: list[bytes], openers: Mapping[str, Opener], rounds: int = 1
    ) -> None:
        self.root = root
        self.files = len(paths)
        self.paths = paths
        self.edits = Edits(root, paths)
        self.lost: dict[str, str] = {}  # peers that failed, and what they said
        self.first = Times()
        self._openers = openers
        self.peers: dict[str, Peer] = {}
        for number in range(rounds):
            self._begin(folder / f"stores{number}")
            if number < rounds - 1:
                self.close()

    @property
    def git(self) -> Git:
        """The peer of the bars."""
        peer = self.peers[GIT.name]
        assert isinstance(peer, Git)
        return peer

    @property
    def others(self) -> Iterator[tuple[str, Peer]]:
        """The peers beside it that have not failed."""
        return ((name, peer) for name, peer in list(self.peers.items()) if name != GIT.name)

    @property
    def workspace(self) -> Workspace:
        """The tree as our client knows it."""
        return Workspace(self.ours.client, self._workspace, str(self.root))

    @property
    def repository(self) -> Path:
        """Our store, as the bare repository that it is."""
        return self.store / "repo.git"

    def time(self, name: str, action: Callable[[], object], times: "Times") -> None:
        """Measure a peer's turn, while ours stands still. One that fails is out; without git nothing goes on."""
        time.sleep(REST_SECONDS)
        try:
            with self.ours.standing_still():
                times.add(name, on_calm_disk(action))
        except PeerFailed as error:
            if name == GIT.name:
                raise
            self._lose(name, str(error))

    def settle(self) -> int:
        """Ours has recorded all that happened; the number of the checkpoint that holds it."""
        number = self.workspace.save(SETTLE_MESSAGE, timeout=None).number
        os.sync()
        return number

    def close(self) -> None:
        """End and remove everything but the tree."""
        self.ours.stop()
        for peer in self.peers.values():
            with contextlib.suppress(PeerFailed):
                peer.close()
        self.peers.clear()
        shutil.rmtree(self._stores, ignore_errors=True)

    def _begin(self, stores: Path) -> None:
        self._stores = stores
        self.ours = Ours(stores / "home")
        try:
            self._first_snapshots()
        except BaseException:  # nobody else knows of the daemon yet
            self.close()
            raise

    def _first_snapshots(self) -> None:
        self._have_in_memory()
        self.first.add_ours(on_calm_disk(self._watch))
        self.memory = Memory.of(self.ours.pid)
        self.store = Path(self.workspace.status().store)
        for name, opener in self._openers.items():
            if name not in self.lost:
                self._admit(name, opener)

    def _watch(self) -> None:
        self._workspace = self.ours.watch(self.root).id

    def _admit(self, name: str, opener: Opener) -> None:
        try:
            self.peers[name] = opener.open(self.root, self._stores / name.replace(" ", "-"))
        except PeerFailed as error:
            self._lose(name, str(error))
            return
        self._have_in_memory()
        self.time(name, self.peers[name].snapshot, self.first)

    def _have_in_memory(self) -> None:
        """Borg has the system forget what it has read: whoever comes after it would have to wait for the disk."""
        for path in self.paths:
            (self.root / os.fsdecode(path)).read_bytes()

    def _lose(self, name: str, reason: str) -> None:
        self.lost[name] = reason
        peer = self.peers.pop(name, None)
        if peer is not None:
            with contextlib.suppress(PeerFailed):
                peer.close()


class Times:
    """What everybody needed for the same thing, in turns."""

    def __init__(self) -> None:
        self._ours: list[float] = []
        self._peers: dict[str, list[float]] = {}

    def add_ours(self, seconds: float) -> None:
        """One turn of ours."""
        self._ours.append(seconds)

    def add(self, name: str, seconds: float) -> None:
        """One turn of a peer."""
        self._peers.setdefault(name, []).append(seconds)

    @property
    def ours(self) -> Sample:
        """All our turns."""
        return sample(self._ours)

    @property
    def git(self) -> Sample:
        """All turns of the peer of the bars."""
        return self.of(GIT.name)

    def of(self, name: str) -> Sample:
        """All turns of a peer."""
        return sample(self._peers[name])

    @property
    def others(self) -> list[str]:
        """The peers beside git that had a turn."""
        return [name for name in self._peers if name != GIT.name]
