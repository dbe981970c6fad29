"""Checkpoints that no honest program wrote: names and types that must never reach a disk."""

import os
from pathlib import Path

import pytest

from backtrail.errors import HostileTree
from backtraild import restore
from backtraild.model import Change, Entry
from daemon.test_restore_world import Link, World, blob_id, entry, identities


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path / "inner")
    made.put({b"a": b"1", b".git/config": b"[core]"})
    return made


HOSTILE_PATHS = [
    b"", b"/etc/passwd", b"../outside", b"a/../../outside", b"./a", b"a//b", b"a/", b"nul\0", b"..",
    b".git/hooks/pre-commit", b"sub/.git", b".GIT/config", b".gIt", b"git~1/config", b".git. /x",
    b".git::$DATA", ".g\u200cit/config".encode(), "\ufeff.git".encode(), b"n" * 256,
    b".backtrail-restore-0/x", b"d/.backtrail-restore-x",
]  # fmt: skip


@pytest.mark.parametrize("path", HOSTILE_PATHS)
@pytest.mark.parametrize("direction", ["write", "delete", "change"])
def test_a_hostile_name_is_refused_before_anything_happens(world: World, path: bytes, direction: str) -> None:
    """A store may have come over the network; nothing in it may run a hook or leave the workspace."""
    old, new = entry(b"1"), entry(b"2")
    hostile = {"write": Change(None, new), "delete": Change(old, None), "change": Change(old, new)}[direction]
    before = identities(world.root)
    with pytest.raises(HostileTree):
        restore.make_plan(str(world.root), {path: hostile, b"fine": Change(None, new)}, 0)
    assert identities(world.root) == before
    assert set(os.listdir(world.folder)) == {"workspace", "store"}


@pytest.mark.parametrize("mode", [0, 0o040000, 0o160000, 0o100600, 0o020644, 0o104755])
def test_only_files_executables_and_symlinks_are_written(world: World, mode: int) -> None:
    """Gitlinks, devices and set-user-id bits have no place in a checkpoint."""
    with pytest.raises(HostileTree):
        restore.make_plan(str(world.root), {b"x": Change(None, Entry(mode, blob_id(b"")))}, 0)


def test_a_path_cannot_be_a_file_and_a_folder(world: World) -> None:
    """A symlink `d` and a file `d/x` in one tree is the classic way to write through a symlink."""
    changes = world.changes({}, {b"d": Link(b"/tmp"), b"d/x": b"1", b"d/e/f": b"2"})
    with pytest.raises(HostileTree, match=r"d/e/f.*d/x"):
        restore.make_plan(str(world.root), changes, 0)


@pytest.mark.parametrize("target", [b"", b"a\0b", b"t" * 4096])
def test_a_symlink_target_that_no_disk_takes_is_refused(world: World, target: bytes) -> None:
    """The call would fail half-way; it is better to say so before."""
    plan = world.plan({b"a": b"1"}, {b"a": b"2", b"link": Link(target)})
    before = identities(world.root)
    with pytest.raises(HostileTree, match="link"):
        world.apply(plan)
    assert identities(world.root) == before
    world.assert_tidy()


def test_the_longest_name_and_target_are_restored(world: World) -> None:
    """The limits are those of the disk, not smaller ones."""
    world.go({}, {b"n" * 255: b"1", b"link": Link(b"t" * 4095)})
    assert (world.root / "link").readlink() == Path("t" * 4095)


def test_all_hostile_paths_are_named_up_to_a_limit(world: World) -> None:
    """One message tells what is wrong with the checkpoint, and stays readable."""
    changes = {b".git/%02d" % number: Change(None, entry(b"")) for number in range(23)}
    with pytest.raises(HostileTree) as raised:
        restore.make_plan(str(world.root), changes, 0)
    assert raised.value.message.count(".git/") == 20
    assert "and 3 more" in raised.value.message


def test_names_that_only_look_hostile_are_restored(world: World) -> None:
    """`.gitignore` and `...` are ordinary names."""
    names = [
        b".gitignore",
        b"...",
        b".github/x",
        b"git~2",
        b".git-blame",
        b"con",
        b"a\\b",
        b".backtrailignore",
    ]
    world.go({}, dict.fromkeys(names, b"1"))
    assert set(names) - {b".github/x"} < set(os.listdir(os.fsencode(world.root)))


def test_a_symlinked_parent_that_was_there_before_is_not_followed(world: World) -> None:
    """The folder outside has the same names in it and stays as it is."""
    outside = world.folder / "outside"
    outside.mkdir()
    (outside / "p").write_bytes(b"old")
    (world.root / "d").symlink_to(outside)
    before = identities(outside)
    outcome = world.go({b"d/p": b"old", b"d/q": b"x"}, {b"d/p": b"new", b"d/r": b"1"})
    assert {conflict.path for conflict in outcome.conflicts} == {b"d/p", b"d/q", b"d/r"}
    assert identities(outside) == before
