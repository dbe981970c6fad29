"""Many clients at once: everybody gets an answer, no event is lost, and the stores are consistent afterwards."""

import contextlib
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail import Client, NothingToDo
from backtrail.client import Workspace
from backtrail.values import CheckpointEvent
from support.clients import Home, home_in
from support.git import git
from support.watching import eventually

CLIENTS, WORKSPACES = 20, 5
# A minute in the long runs: BACKTRAIL_SOAK_SECONDS=60.
SECONDS = float(os.environ.get("BACKTRAIL_SOAK_SECONDS", "4"))
SEED = int(os.environ.get("BACKTRAIL_SEED", random.SystemRandom().randrange(10**6)))


class Visitor(threading.Thread):
    """One client with a mind of its own: edits, saves, lists, compares and restores until the time is up."""

    def __init__(self, number: int, home: Home, roots: list[Path], until: float) -> None:
        super().__init__(name=f"visitor {number}")
        self._random = random.Random(SEED * 1000 + number)
        self._home, self._roots, self._until, self._number = home, roots, until, number
        self.saved: list[tuple[str, int, str]] = []
        self.did: Counter[str] = Counter()
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            with Client(home=self._home) as client:
                while time.monotonic() < self._until:
                    workspace = client.workspace(self._random.choice(self._roots))
                    action = self._random.choice(
                        (self.save, self.save, self.look, self.compare, self.restore)
                    )
                    action(workspace)
                    self.did[action.__name__] += 1
        except BaseException as error:
            self.failure = error

    def save(self, workspace: Workspace) -> None:
        """Everybody writes files of their own, so that the others' restores are the only disturbance."""
        path = Path(workspace.root, f"{self._number}-{self._random.randrange(4)}.txt")
        path.write_text(f"{self._random.random()}\n")
        with contextlib.suppress(NothingToDo):  # an automatic checkpoint was faster
            made = workspace.save(f"by {self._number}", allow_empty=self._random.random() < 0.5)
            self.saved.append((workspace.id, made.number, made.id))

    def look(self, workspace: Workspace) -> None:
        """What is listed can be had."""
        listed = workspace.list(limit=5)
        chosen = self._random.choice(listed)
        assert workspace.get(chosen.number).id == chosen.id

    def compare(self, workspace: Workspace) -> None:
        """Any two can be compared."""
        first, second = (self._random.choice(workspace.list(limit=20)).number for _ in range(2))
        difference = workspace.diff(first, second)
        assert bool(difference.files) == (workspace.get(first).tree != workspace.get(second).tree)

    def restore(self, workspace: Workspace) -> None:
        """A restore that did something has a state before it and one after."""
        done = workspace.restore(self._random.choice(workspace.list(limit=20)).number)
        if done.written or done.deleted:
            assert done.safety_checkpoint is not None
            assert done.result is not None


class Listener(threading.Thread):
    """Hears every event until there are no more."""

    def __init__(self, client: Client) -> None:
        super().__init__(name="listener")
        self._events = client.events(since=0)
        self.heard: list[CheckpointEvent] = []

    def run(self) -> None:
        self.heard.extend(self._events)

    def end(self) -> None:
        self._events.close()
        self.join(20)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with home_in(tmp_path) as found:
        yield found


def test_twenty_clients_in_five_workspaces_get_on_with_each_other(home: Home, tmp_path: Path):
    """Agents, editors and people use one daemon at the same time, and each believes to be alone."""
    print(f"BACKTRAIL_SEED={SEED}")
    roots = [tmp_path / f"work-{number}" for number in range(WORKSPACES)]
    with Client(home=home) as client:
        for root in roots:
            root.mkdir()
            (root / "begin.txt").write_text("the beginning\n")
            client.watch(root)
        listener = Listener(client)
        listener.start()
        visitors = visited(home, roots)
        newest = client.ping().seq
        eventually(lambda: listener.heard and listener.heard[-1].seq >= newest, 30)
        listener.end()

        did = sum((visitor.did for visitor in visitors), Counter[str]())
        print(dict(did))
        assert set(did) == {"save", "look", "compare", "restore"}
        seqs = [event.seq for event in listener.heard]
        assert seqs == list(range(1, len(seqs) + 1))
        told = {
            (event.workspace, event.checkpoint) for event in listener.heard if event.type != "initialized"
        }
        for workspace, number, identity in (made for visitor in visitors for made in visitor.saved):
            assert (workspace, number) in told
            assert client.workspace(workspace).get(number).id == identity
        for root in roots:
            workspace = client.workspace(root)
            checked = workspace.verify()
            assert not checked.damage
            assert len(checked.whole) == workspace.status().checkpoints
            git("fsck", "--strict", git_dir=Path(workspace.status().store, "repo.git"))


def visited(home: Home, roots: list[Path]) -> list[Visitor]:
    """Twenty visitors, gone again. An error of any of them is an error."""
    until = time.monotonic() + SECONDS
    visitors = [Visitor(number, home, roots, until) for number in range(CLIENTS)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join(SECONDS + 60)
        if visitor.failure is not None:
            raise visitor.failure
    return visitors
