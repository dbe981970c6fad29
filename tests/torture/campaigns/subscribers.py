"""Slow, stopped, killed and very many followers of events, and daemons that end under them: R7."""

import contextlib
import random
from collections.abc import Callable, Sequence
from pathlib import Path

from backtrail import CheckpointConfig, Client
from backtrail.workspace import Workspace
from support.clients import Home, home_in
from support.followers import Follower, ProcessFollower, ThreadFollower
from support.vitals import MEGABYTE, Vitals, has_loaded_all
from support.watching import eventually
from torture.campaign import Campaign, Counts, Round

STEPS = 6
CROWD = 200
# More than ZeroMQ keeps for one subscriber, with what the kernel holds besides.
FLOOD = 13_000
# Ten thousand events wait for a follower that is stopped; the rest is dropped.
FLOOD_MEMORY = 40 * MEGABYTE


def restarts_round(turn: Round) -> Counts:
    """Followers of every kind while daemons are stopped and killed; each hears everything, once, in order."""
    source = turn.source
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(home_in(turn.folder))
        client = stack.enter_context(Client(home=home))
        workspace = _watched(client, turn.folder)
        process = stack.enter_context(
            ProcessFollower(home.path, turn.folder / "heard", source.choice((0.0, 0.01)))
        )
        followers: list[Follower] = [process]
        counts = {"followers": 1.0, "restarts": 0.0}
        for _ in range(STEPS):
            late = ThreadFollower(
                home=home, is_async=source.random() < 0.5, pause=source.choice((0.0, 0.0, 0.005))
            )
            followers.append(stack.enter_context(late))
            counts["followers"] += 1
            counts["restarts"] += _step(source, home, client, workspace, process)
        process.go_on()
        newest = _heard_by(followers, client)
        return {**counts, "events": newest, "most events": newest}


def _step(
    source: random.Random, home: Home, client: Client, workspace: Workspace, process: ProcessFollower
) -> bool:
    """Something happens, and something goes wrong; whether the daemon is another one afterwards."""
    for _ in range(source.randrange(1, 20)):
        workspace.save()
    ways: Sequence[Callable[[], object]] = (
        home.kill,
        client.stop,
        process.stop,
        process.go_on,
        process.die_and_return,
    )
    way = source.choice(ways)
    way()
    return way in (home.kill, client.stop)


def crowd_round(turn: Round) -> Counts:
    """Two hundred at once, and the daemon is killed in the middle of it."""
    with contextlib.ExitStack() as stack:
        home = stack.enter_context(home_in(turn.folder))
        client = stack.enter_context(Client(home=home))
        workspace = _watched(client, turn.folder)
        followers = [
            stack.enter_context(ThreadFollower(home=home, is_async=number % 20 == 0))
            for number in range(CROWD)
        ]
        for end in (home.kill, client.ping):
            for _ in range(10):
                workspace.save()
            end()
        return {"followers": CROWD, "restarts": 1, "events": _heard_by(followers, client)}


def flood_round(turn: Round) -> Counts:
    """One that is stopped while more happens than is kept for it: the daemon does not grow, the hole is filled."""
    with (
        home_in(turn.folder) as home,
        Client(home=home) as client,
        ProcessFollower(home.path, turn.folder / "heard") as follower,
    ):
        workspace = _watched(client, turn.folder)
        follower.wait_for(client.ping().seq)
        eventually(lambda: has_loaded_all(client.ping().pid))
        before = Vitals.of(client.ping().pid)
        follower.stop()
        for _ in range(FLOOD):
            workspace.save()
        grown = Vitals.of(client.ping().pid).memory - before.memory
        assert grown < FLOOD_MEMORY, f"the daemon grew by {grown:,} bytes for a follower that is stopped"
        follower.go_on()
        return {"events": _heard_by([follower], client), "most bytes grown": max(0, grown)}


def _watched(client: Client, folder: Path) -> Workspace:
    (folder / "work").mkdir()
    return client.watch(folder / "work", CheckpointConfig(auto_checkpoint=False))


def _heard_by(followers: Sequence[Follower], client: Client) -> int:
    newest = client.ping().seq
    for follower in followers:
        follower.wait_for(newest)
    return newest


CAMPAIGNS = (
    Campaign(
        "subscribers",
        "R7",
        "Every follower hears every event once and in order, whoever is stopped or killed meanwhile.",
        300,
        restarts_round,
    ),
    Campaign(
        "subscribers-crowd",
        "R7",
        "Two hundred followers at once hear everything, also when the daemon is killed under them.",
        20,
        crowd_round,
    ),
    Campaign(
        "subscribers-flood",
        "R7",
        "A follower that is stopped costs the daemon little, and finds all that was dropped for it.",
        2,
        flood_round,
        900.0,
    ),
)
