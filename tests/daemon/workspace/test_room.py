"""Whether a store may grow: its cap, the floor of its disk, and what restores may use of both."""

import contextlib
import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from backtrail.errors import StoreFull
from backtraild.workspace import Bound
from backtraild.workspace.room import SMALL_FILES_BYTES
from support.packs import pack_files
from support.project import Project
from support.stored import disk_bytes


def bounded(project: Project, **settings: int) -> Project:
    project.config = replace(project.config, **settings)
    project.reopen()
    return project


def test_what_is_used_is_what_lies_on_the_disk(tmp_path: Path):
    """A cap on something else would not keep the disk from filling up."""
    with Project(tmp_path) as project:
        for number in range(5):
            project.write(f"file{number}", bytes([number]) * 100_000)
            project.save()
            assert 0 <= project.workspace.room.used - disk_bytes(project.store) <= SMALL_FILES_BYTES


def test_a_save_that_does_not_fit_leaves_nothing_and_the_next_that_does_is_made(tmp_path: Path):
    """Also where most of it is on the disk already when it is refused."""
    with bounded(Project(tmp_path), max_store_bytes=8_000_000) as project:
        project.write("small", "1")
        project.save()
        before = pack_files(project.git_dir)
        project.write("large", os.urandom(9_000_000))
        with pytest.raises(StoreFull, match=r"max_store_bytes allows 8\.0 MB"):
            project.save()
        room = project.workspace.room
        assert room.refusal is not None
        assert room.refusal.bound is Bound.CAP
        assert not room.is_worth_trying()
        assert pack_files(project.git_dir) == before
        (project.root / "large").unlink()
        project.write("small", "2")
        project.check(project.save())


def test_a_restore_is_possible_in_a_store_that_is_full(tmp_path: Path):
    """Its safety checkpoint holds nothing new where all is saved; the last bit of the cap is kept for that."""
    with Project(tmp_path) as project:
        for content in ("old", "new"):
            project.write("file", content)
            project.save()
        bounded(project, max_store_bytes=project.workspace.room.used + 8_000_000)
        for size in (6_000_000, 1_000_000, 400_000, 200_000, 100_000, 50_000, 20_000):
            content = os.urandom(size)
            project.write("filler", content)
            with contextlib.suppress(StoreFull):
                project.save()
                saved = content
        project.write("filler", saved)
        with pytest.raises(StoreFull):
            project.workspace.room.check(50_000)
        project.workspace.restore("1")
        project.workspace.undo()
        assert (project.root / "file").read_text() == "new"
        assert project.workspace.room.used <= project.config.max_store_bytes


def test_upkeep_gives_way_to_a_save_that_needs_its_room_and_to_no_other(tmp_path: Path):
    """A save comes first; but one that does not fit anyway must not keep the store from making room."""
    with bounded(Project(tmp_path), max_store_bytes=1_000_000) as project:
        room, gave_way = project.workspace.room, []
        left = room.left

        def give_way() -> None:
            gave_way.append(True)
            room.release()

        room.reserve(left // 2, give_way)
        room.check(left // 4)
        with pytest.raises(StoreFull):
            room.check(left * 2)
        assert gave_way == []
        room.check(left * 3 // 4)
        assert gave_way == [True]
