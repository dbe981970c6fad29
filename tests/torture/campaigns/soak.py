"""Everything at once for a while, by clients that also die in the middle; nothing of it is left in the end."""

import contextlib
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from backtrail import CheckpointConfig, Client
from backtrail.errors import BacktrailError, Bug, DaemonUnreachable
from backtrail.workspace import Workspace
from support.clients import home_in
from support.disk import fsck
from support.outside import reached
from support.process import Process
from support.target import warm_up
from support.vitals import MEGABYTE, Vitals, back_to, growth
from support.wire import Wire, connection_of
from torture.campaign import Campaign, Counts, Round

# What small packs hold is found in memory, until they are merged: after the first rounds of upkeep it does not grow.
# That takes four minutes alone, and longer beside another campaign.
WARM_UP_SECONDS, SECONDS = 400.0, 90.0
LOOKS = 9
VISITORS = 6
WORKSPACES = 3
MEMORY = 5 * MEGABYTE
_TESTS = Path(__file__).parents[2]

_KILLED = """
import sys
from backtrail import Client
with Client(home=sys.argv[1], autostart=False) as client:
    workspace = client.workspace(sys.argv[2])
    print("ready", flush=True)
    while True:
        workspace.save("by one that will be killed")
        workspace.diff("1")
"""


class Visitor(threading.Thread):
    """One client with a mind of its own. What the daemon refuses on purpose is no failure."""

    def __init__(self, source: random.Random, home: Path, roots: list[Path], until: float) -> None:
        super().__init__(name="visitor")
        self._source, self._home, self._roots, self._until = source, home, roots, until
        self._name = f"v{source.randrange(10**6)}"
        self.did: Counter[str] = Counter()
        self.failure: BaseException | None = None

    def run(self) -> None:
        actions = [getattr(self, name) for name in ACTIONS]
        try:
            with Client(home=self._home) as client:
                while time.monotonic() < self._until:
                    action = self._source.choice(actions)
                    self._try(action, client.workspace(self._source.choice(self._roots)))
                    self.did[action.__name__] += 1
        except BaseException as error:
            self.failure = error

    def _try(self, action: Callable[[Workspace], None], workspace: Workspace) -> None:
        try:
            action(workspace)
        except BacktrailError as error:
            if isinstance(error, DaemonUnreachable | Bug):
                raise
            self.did["refused"] += 1

    def save(self, workspace: Workspace) -> None:
        Path(workspace.root, f"{self._name}.txt").write_text(f"{self._source.random()}\n" * 100)
        workspace.save("a save", allow_empty=False)

    def converse(self, workspace: Workspace) -> None:
        session = workspace.session(self._name)
        turn = session.start_turn("go on").turn
        session.tool_used("edit")
        session.save(turn=turn, conversation=[{"role": "user", "content": "go on"}] * turn)
        workspace.search("go on", limit=3)

    def rewind(self, workspace: Workspace) -> None:
        workspace.session(self._name).rewind(before_turn=1, confirm=True)

    def look(self, workspace: Workspace) -> None:
        for checkpoint in workspace.list(limit=3):
            workspace.get(checkpoint.number)
        workspace.timeline(limit=20)
        workspace.log(f"{self._name}.txt")

    def compare(self, workspace: Workspace) -> None:
        workspace.diff(self._source.choice(workspace.list(limit=20)).number)

    def restore(self, workspace: Workspace) -> None:
        workspace.restore(self._source.choice(workspace.list(limit=20)).number)

    def undo(self, workspace: Workspace) -> None:
        workspace.undo()

    def fork(self, workspace: Workspace) -> None:
        """A folder that is watched for a moment."""
        folder = Path(workspace.root).parent / f"fork-{self._name}-{self._source.randrange(10**9)}"
        made = workspace.fork(folder, checkpoint="@")
        workspace.client.workspace(made.workspace).unwatch(purge=True)

    def pause(self, workspace: Workspace) -> None:
        workspace.pause()
        workspace.resume_watching()

    def verify(self, workspace: Workspace) -> None:
        assert not workspace.verify().damage

    def prune(self, workspace: Workspace) -> None:
        workspace.prune()

    def listen(self, workspace: Workspace) -> None:
        with workspace.client.events(since=max(0, workspace.client.ping().seq - 5)) as events:
            workspace.save()
            next(events)

    def die(self, workspace: Workspace) -> None:
        """Another client is killed in the middle of what it does."""
        command = [sys.executable, "-c", _KILLED, self._home, workspace.root]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(self._source.random() / 20)  # the moment is what is tried
            process.kill()


ACTIONS = (
    *("save", "save", "save", "converse", "converse", "rewind", "look", "compare", "restore", "undo"),
    *("fork", "pause", "verify", "prune", "listen", "die"),
)


def soak_round(turn: Round) -> Counts:
    """As long as the long run has for it."""
    return soak(turn, WARM_UP_SECONDS, SECONDS, MEMORY)


def soak(turn: Round, warm_up_seconds: float, seconds: float, memory: int) -> Counts:
    """What the daemon takes of the machine is the same after a while and after some more of it."""
    source = turn.source
    roots = [turn.folder / f"work-{number}" for number in range(WORKSPACES)]
    with home_in(turn.folder) as home, _forgetful(home.path), Client(home=home) as client:
        for root in roots:
            root.mkdir()
            (root / "begin.txt").write_text("the beginning\n")
            client.watch(root, CheckpointConfig(quiet=0.2, patience=2.0))
        did = _visited(source, home.path, roots, warm_up_seconds)
        with Wire(connection_of(home.path)["requests"]) as wire:
            warm_up(wire, client.workspaces()[0].workspace)
        pid = client.ping().pid
        looks = [_rested(client, pid)]
        while len(looks) < LOOKS:
            did += _visited(source, home.path, roots, seconds / (LOOKS - 1))
            looks.append(_rested(client, pid))
        back_to(looks[0], pid, memory=2 * memory)
        _check_tidy(client, home.path, roots)
        return {**did, "most bytes grown": growth(looks, memory)}


@contextlib.contextmanager
def _forgetful(home: Path) -> Iterator[None]:
    """A daemon of which no memory is only filled for the first time."""
    with Process(home, environment={"PYTHONPATH": str(_TESTS)}, module="support.forgetful") as process:
        reached(home, process)
        yield


def _visited(source: random.Random, home: Path, roots: list[Path], seconds: float) -> Counter[str]:
    until = time.monotonic() + seconds
    visitors = [Visitor(random.Random(source.random()), home, roots, until) for _ in range(VISITORS)]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join(seconds + 60)
        assert not visitor.is_alive(), f"a visitor hangs after {dict(visitor.did)}"
        if visitor.failure is not None:
            raise visitor.failure
    return sum((visitor.did for visitor in visitors), Counter[str]())


def _rested(client: Client, pid: int) -> Vitals:
    """Once what was changed last is saved, and what was begun is over."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        statuses = [client.workspace(info.workspace).status() for info in client.workspaces()]
        if not any(status.pending for status in statuses) and not Vitals.of(pid).children:
            break
        time.sleep(0.1)
    return Vitals.of(pid)


def _check_tidy(client: Client, home: Path, roots: list[Path]) -> None:
    """The same folders are watched, the stores are sound, and no file of a moment is left."""
    watched = client.workspaces()
    assert sorted(info.root for info in watched) == sorted(map(str, roots))
    for info in watched:
        assert not client.workspace(info.workspace).verify().damage
        fsck(Path(info.store, "repo.git"))
    left = [path for path in home.rglob("*") if path.name.endswith(".tmp") or path.name.startswith("tmp_")]
    with contextlib.suppress(FileNotFoundError):
        left += (home / "run" / "cookies").iterdir()
    assert not left, left


CAMPAIGNS = (
    Campaign(
        "soak",
        "R11",
        "After minutes of everything at once, the daemon has what it had before: memory, files, threads.",
        10,
        soak_round,
        700.0,
    ),
)
