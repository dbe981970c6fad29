"""Power cuts on a real file system, which drops what has not reached its journal; `make torture` makes many."""

from pathlib import Path

from torture.campaigns import power
from torture.short import rounds


def test_what_was_acknowledged_survives_a_power_cut(tmp_path: Path) -> None:
    """The machine dies at a bad moment, and whoever worked on it was told what is safe."""
    counts = rounds(power, "power-cut", [2], tmp_path)
    assert counts["acknowledged"]


def test_a_cut_at_a_sync_loses_nothing_that_was_promised_before(tmp_path: Path) -> None:
    """A sync that is missing, or comes too late, shows right there: in the middle of a restore, and after it."""
    counts = rounds(power, "power-cut-sync", [237], tmp_path)
    assert counts["acknowledged"]
