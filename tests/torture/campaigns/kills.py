"""Killed with kill -9: at every system call that changes a file, and at random moments of random work."""

from functools import partial

from support import trials
from support.killed_daemons import killed_daemons, killed_while_serving
from support.killing import Ordeal
from support.scenes import SCENES
from torture.campaign import Campaign, Counts, Finished, Round, added, at_calls

IN_A_ROW = 25
DAEMONS = 2


def of_scene(name: str, attempt: Round) -> Counts:
    """Some moments of one scene."""
    return at_calls(trials.kills(name), attempt, partial(trials.killed, name))


def at_work(attempt: Round) -> Counts:
    """Random work in one home, killed at random system calls, again and again."""
    ordeal = Ordeal(attempt.folder)
    total: Counts = {}
    for number in range(IN_A_ROW):
        total = added(total, ordeal.kill_once(attempt.number * IN_A_ROW + number))
    return added(total, ordeal.judge())


def of_daemons(attempt: Round) -> Counts:
    """A client works on while daemons are killed under it at random moments."""
    return killed_daemons(attempt.folder, attempt.number, DAEMONS)


def while_serving(act: str, attempt: Round) -> Counts:
    """A client asks a daemon, which is killed at one system call; the next daemon has the answer."""
    counts = killed_while_serving(attempt.folder, act, attempt.number + 1)
    if counts is None:
        raise Finished
    return counts


_KEPT = "nothing that was acknowledged is lost, git finds the store sound, and no file is half written"

CAMPAIGNS = (
    Campaign("kill-random", "R1", f"After kill -9 at any moment {_KEPT}.", 300, of_daemons),
    Campaign("kill-work", "R1", f"After kill -9 at any system call of any work {_KEPT}.", 200, at_work),
    *(
        Campaign(
            f"kill-served-{act}",
            "R1",
            f"A {act} is made once and answered, at whatever system call the daemon is killed.",
            1000,
            partial(while_serving, act),
        )
        for act in ("save", "restore")
    ),
    *(
        Campaign(
            f"kill-call-{name}",
            "R5" if name in ("restore", "restore-many", "undo", "rewind") else "R1",
            f"After kill -9 at any system call of {name} {_KEPT}.",
            1000,
            partial(of_scene, name),
        )
        for name in SCENES
    ),
)
