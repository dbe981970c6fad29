"""A round of what `make torture` does to followers of events for hours."""

from pathlib import Path

from torture.campaigns import subscribers
from torture.short import rounds


def test_followers_of_every_kind_hear_everything_once_and_in_order(tmp_path: Path):
    """Slow, late, stopped and killed ones, with daemons that end under them."""
    counted = rounds(subscribers, "subscribers", [4], tmp_path)
    assert counted["followers"] == subscribers.STEPS + 1
    assert counted["restarts"] > 1
