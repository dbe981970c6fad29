"""A few rounds of the damage campaigns: one file is damaged by chance, and everything else goes on."""

from pathlib import Path

from torture import short
from torture.campaigns import damage


def test_one_damaged_file_of_a_store_is_found_survived_and_healed(tmp_path: Path):
    """Disks lose bits, and people delete the wrong file."""
    counts = short.rounds(damage, "damage-library", range(5), tmp_path)
    assert counts["restored byte for byte"] > 0


def test_one_damaged_file_in_a_home_stops_nothing_else(tmp_path: Path):
    """Three folders are watched; the damage concerns one of them at most."""
    short.rounds(damage, "damage-store", [2], tmp_path)
