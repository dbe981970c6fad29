"""A few rounds of the long run: a store to which everything happens at random."""

from pathlib import Path

import pytest

from torture.campaign import Round
from torture.campaigns.upkeep import attempt


@pytest.mark.parametrize("seed", [4])
def test_nothing_needed_is_lost_and_nothing_else_is_kept(seed: int, tmp_path: Path) -> None:
    """Saves, deletions, kills, stops and git commands around rounds of upkeep: the promise of the whole."""
    print(f"seed {seed}")
    counted = attempt(Round(seed, tmp_path))
    assert counted["rounds put in place"]
