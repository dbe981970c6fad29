"""Full disks: small ones in memory, filled to the last byte or file; `make torture` does it at random for long."""

from collections.abc import Callable
from pathlib import Path

import pytest

from support.mounts import apart
from torture.campaign import Unable
from torture.campaigns import full_disk
from torture.short import rounds

Scene = Callable[..., None]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Lets a scenario happen in a world of its own, where that can be made."""

    def happen(name: str, *options: bool) -> None:
        try:
            apart(f"support.full_scenarios:{name}", str(tmp_path), *options)
        except Unable as reason:
            pytest.skip(str(reason))

    return happen


def test_whatever_is_done_on_a_full_disk_is_done_or_refused_as_a_whole(tmp_path: Path) -> None:
    """Bytes or files run out under the store and under the workspace, at any level, and there is room again."""
    counts = rounds(full_disk, "disk-full", [8], tmp_path)
    assert counts["refused"]


def test_automatic_checkpoints_stop_with_a_reason_and_go_on_when_there_is_room(scene: Scene) -> None:
    """Nobody looks at a daemon: it has to say which disk is full, and needs no help afterwards."""
    scene("degraded_and_back")


@pytest.mark.parametrize("inodes", [False, True], ids=["no byte is left", "no file can be made"])
def test_space_can_be_given_back_when_there_is_none(scene: Scene, inodes: bool) -> None:
    """Deleting, pruning and purging are how one makes room: they must not need any."""
    scene("freeing_at_nothing", inodes)
