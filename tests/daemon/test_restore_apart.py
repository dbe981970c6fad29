"""The new files of a large restore are made in a folder that lies apart on the disk, if the disk can have it so.

Ext4 looks for room beside the folder; without a journal, it passes over what was freed in the last minutes, one place
after the other.
"""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from backtraild.restore.calls import OS, Calls
from backtraild.restore.staging import SYNCED_ONE_BY_ONE
from daemon.test_restore_world import World, expected

FS_IOC_GETFLAGS, TOPDIR = 0x80086601, 0x00020000


class Watching(Calls):
    """System calls that tell in which folders new files are made, below the workspace."""

    def __init__(self, root: Path, *, refusal: int | None = None) -> None:
        self.folders: set[Path] = set()
        self._root = root
        self._refusal = refusal

    def open(self, path: bytes, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:  # type: ignore[override]
        if flags & os.O_CREAT and dir_fd is not None:
            self.folders.add(Path(os.readlink(f"/proc/self/fd/{dir_fd}")).relative_to(self._root))
        return OS.open(path, flags, mode, dir_fd=dir_fd)

    def let_folders_lie_apart(self, _: int) -> None:  # type: ignore[override]
        if self._refusal is not None:
            raise OSError(self._refusal, os.strerror(self._refusal))


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "w")


def restored(world: World, files: int, calls: Watching) -> Path:
    """Where that many files were staged."""
    old = {b"%d" % number: b"old" for number in range(files)}
    new = dict.fromkeys(old, b"new")
    world.put(old)
    world.apply(world.plan(old, new), calls)
    assert world.on_disk() == expected(new)
    world.assert_tidy()
    (folder,) = calls.folders
    return folder


def test_many_files_are_made_in_a_folder_inside(world: World) -> None:
    """Its random name decides where on the disk it lies: after an undo, hardly ever where files were just deleted."""
    folder = restored(world, SYNCED_ONE_BY_ONE + 1, Watching(world.root))
    assert folder.parent.name == folder.name != ""


def test_a_few_files_are_not_worth_another_folder(world: World) -> None:
    """Taking back a single edit should be over before one has noticed."""
    folder = restored(world, SYNCED_ONE_BY_ONE, Watching(world.root))
    assert folder.parent == Path()


@pytest.mark.parametrize("refusal", [errno.ENOTTY, errno.EOPNOTSUPP, errno.EPERM])
def test_where_the_disk_cannot_have_it_so_all_is_as_with_a_few(world: World, refusal: int) -> None:
    """Most file systems have no such flag, and need none."""
    folder = restored(world, SYNCED_ONE_BY_ONE + 1, Watching(world.root, refusal=refusal))
    assert folder.parent == Path()


def test_the_file_system_is_told(tmp_path: Path) -> None:
    """`lsattr -d` shows it as T."""
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        try:
            OS.let_folders_lie_apart(folder)
        except OSError as error:
            pytest.skip(f"not on this file system: {error}")
        flags = fcntl.ioctl(folder, FS_IOC_GETFLAGS, bytes(8))
    finally:
        os.close(folder)
    assert int.from_bytes(flags[:4], "little") & TOPDIR
