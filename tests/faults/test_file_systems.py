"""Workspaces and stores on other file systems than usual: several, read-only, gone, in layers, without case."""

from pathlib import Path

import pytest

from support.mounts import apart
from torture.campaign import Unable


def _happens(name: str, folder: Path) -> None:
    try:
        apart(f"support.file_system_scenarios:{name}", str(folder))
    except Unable as reason:
        pytest.skip(str(reason))


def test_a_workspace_may_lie_on_several_disks_and_its_store_on_another(tmp_path: Path) -> None:
    """A rename does not lead from one disk to another: each has to have its own place for what goes and comes."""
    _happens("workspace_on_several", tmp_path)


def test_a_read_only_workspace_is_captured_and_never_half_restored(tmp_path: Path) -> None:
    """A medium that is write-protected, or a disk that the system made read-only because it fails."""
    _happens("read_only_workspace", tmp_path)


def test_a_read_only_store_acknowledges_nothing_and_can_be_read(tmp_path: Path) -> None:
    """What was saved before is what one needs most when a disk begins to fail."""
    _happens("read_only_store", tmp_path)


def test_a_store_whose_disk_is_taken_away_is_not_begun_anew_in_its_place(tmp_path: Path) -> None:
    """The folder under a mount is empty: taken for the store, it would hide all checkpoints behind a new one."""
    _happens("unmounted_store", tmp_path)


def test_a_workspace_in_layers_goes_back_and_forth(tmp_path: Path) -> None:
    """In a container every file that is changed becomes another one, in another layer."""
    _happens("overlay", tmp_path)


def test_names_that_differ_in_case_alone_are_told_where_they_are_one(tmp_path: Path) -> None:
    """A project from Linux, restored where README and readme are the same file."""
    _happens("case_insensitive", tmp_path)
