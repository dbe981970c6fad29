"""Every system call fails that can fail, once and from then on: what is said, and what is left."""

from functools import partial

from support import trials
from support.scenes import SCENES
from torture.campaign import Campaign, Counts, Finished, Round, added

AT_ONCE = 6  # so many cases of a matrix are one round: preparing costs as much as trying


def at_calls(name: str, attempt: Round) -> Counts:
    """Some cases of one scene, one after another."""
    plans = trials.failures(name)[attempt.number * AT_ONCE :][:AT_ONCE]
    if not plans:
        raise Finished
    total: Counts = {}
    for number, plan in enumerate(plans):
        folder = attempt.folder / str(number)
        folder.mkdir()
        total = added(total, trials.failed(name, folder, plan))
    return total


CAMPAIGNS = tuple(
    Campaign(
        f"fail-call-{name}",
        "R2",
        f"Whatever call of {name} fails, nothing is acknowledged that is not there, the error is named, "
        "and the next save works.",
        1000,
        partial(at_calls, name),
    )
    for name in SCENES
)
