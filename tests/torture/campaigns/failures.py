"""Every system call fails that can fail, once and from then on: what is said, and what is left."""

from functools import partial

from support import trials
from support.scenes import SCENES
from torture.campaign import Campaign, Counts, Round, at_calls


def of_scene(name: str, attempt: Round) -> Counts:
    """Some cases of one scene."""
    return at_calls(trials.failures(name), attempt, partial(trials.failed, name))


CAMPAIGNS = tuple(
    Campaign(
        f"fail-call-{name}",
        "R2",
        f"Whatever call of {name} fails, nothing is acknowledged that is not there, the error is named, "
        "and the next save works.",
        1000,
        partial(of_scene, name),
    )
    for name in SCENES
)
