"""What `make torture` does with 20,000 checkpoints, done with 300, and everything at once for a moment."""

from pathlib import Path

from support.vitals import MEGABYTE
from torture.campaign import Round
from torture.campaigns.many import many
from torture.campaigns.soak import soak


def test_of_many_checkpoints_every_listed_one_is_whole_and_the_daemon_stays_as_it_is(tmp_path: Path):
    """Months of work in one folder, with retention letting go of some all the time."""
    counted = many(Round(0, tmp_path), 300, sample=20)
    assert 100 < counted["listed"] <= 300


def test_everything_at_once_leaves_nothing_behind(tmp_path: Path):
    """Clients that save, restore, converse, fork, listen and die at the same time."""
    counted = soak(Round(0, tmp_path), 0.5, 2.0, 15 * MEGABYTE)
    assert counted["save"] > 0
