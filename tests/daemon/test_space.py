"""How much of a disk is left alone, and how sizes are told."""

import os
from pathlib import Path

import pytest

from backtraild import space
from backtraild.space import Space


@pytest.mark.parametrize(
    ("wanted", "total", "floor"),
    [
        (None, 500 * 10**9, 100_000_000),
        (None, 10**9, 50_000_000),
        (None, 0, 0),
        (0, 500 * 10**9, 0),
        (7, 10, 7),
    ],
)
def test_the_floor_follows_the_disk_unless_its_owner_says_otherwise(wanted, total, floor):
    """100 MB of a stick of 128 MB would leave nothing to use; and nothing is nothing where that is wanted."""
    assert space.floor(wanted, total) == floor


def test_a_disk_below_its_floor_has_no_room():
    """Less than nothing would let the next sum come out wrong."""
    assert (Space(10, 3).room, Space(3, 10).room) == (7, 0)


def test_what_is_free_is_what_a_user_may_take(tmp_path: Path):
    """Some of a disk is kept for root; a save that counted on it would fail."""
    found, disk = space.look(str(tmp_path), 5), os.statvfs(tmp_path)
    assert abs(found.free - disk.f_bavail * disk.f_frsize) < 100_000_000
    assert found.floor == 5
