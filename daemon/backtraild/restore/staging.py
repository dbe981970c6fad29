"""The staging folder: where new content waits to go in and old content waits until nothing can fail any more.

One folder in the workspace's root, and one in each mounted or otherwise separate file system that a step
touches, because a rename cannot leave its file system. All have one random name, which the journal holds.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from backtraild.model import EXECUTABLE_MODE, SYMLINK_MODE, Entry, Path
from backtraild.restore.calls import NEW_FILE, OPEN_FOLDER, Calls
from backtraild.restore.content import Seen, seen_of
from backtraild.restore.folders import Folders
from backtraild.restore.journal import Step
from backtraild.restore.trash import Trash

SYNCED_ONE_BY_ONE = 16


class Staging:
    """The staging folders of one restore. A generation is one attempt: the first, then recoveries."""

    def __init__(
        self, folders: Folders, name: bytes, areas: tuple[Path, ...], trash: str | None = None
    ) -> None:
        """`trash` is a folder for what is no longer needed."""
        self._folders = folders
        self.calls: Calls = folders.calls
        self._name = name
        self.areas = areas
        self._fds: dict[int, int] = {}
        self._apart: set[int] = set()  # the areas in which all is staged in a folder inside
        self._one_by_one = True
        self.generation = 0
        self.trash = Trash(folders.calls, trash)
        self.made: dict[int, Seen] = {}  # what was staged, by the step's number

    def enter(self) -> None:
        """Open the staging folders that exist, unless they are open already."""
        for number, path in self._unopened():
            with suppress(FileNotFoundError):
                self._open_area(number, self._folders.open(path).fd)

    def make(self, files: int) -> None:
        """Make and open those that do not exist, for so many files: few are synced one by one, many by one `syncfs`."""
        self._one_by_one = files <= SYNCED_ONE_BY_ONE
        for number, path in self._unopened():
            self._make_area(number, self._folders.open(path).fd)

    def _unopened(self) -> list[tuple[int, Path]]:
        return [(number, path) for number, path in enumerate(self.areas) if number not in self._fds]

    def _make_area(self, number: int, around: int) -> None:
        try:
            self.calls.mkdir(self._name, 0o700, dir_fd=around)
        except FileExistsError:
            # An earlier generation made it: the name is random and in the journal, so it is ours.
            self._open_area(number, around)
            return
        self._fds[number] = self._open(around)
        if not self._one_by_one:
            self._move_apart(number)

    def _move_apart(self, number: int) -> None:
        """Stage in a folder inside, which lies somewhere else on the disk, if its file system can have it so.

        Ext4 puts a new file near its folder. Without a journal, as virtual machines often have it, it passes over each
        place there that was freed in the last minutes, for every new file anew: after ten thousand deletions, as by a
        restore, the next restore took twice as long.
        """
        outside = self._fds[number]
        try:
            self.calls.let_folders_lie_apart(outside)
            self.calls.mkdir(self._name, 0o700, dir_fd=outside)
        except OSError:
            return
        self._apart.add(number)
        self._fds[number] = self._open(outside)
        self.calls.close(outside)

    def _open_area(self, number: int, around: int) -> None:
        self._fds[number] = outside = self._open(around)
        with suppress(FileNotFoundError):
            self._fds[number] = self._open(outside)
            self._apart.add(number)
            self.calls.close(outside)

    def _open(self, around: int) -> int:
        return self.calls.open(self._name, OPEN_FOLDER, dir_fd=around)

    def close(self) -> None:
        """Close the descriptors; the folders stay."""
        self.trash.close()
        while self._fds:
            self.calls.close(self._fds.popitem()[1])

    def fd(self, step: Step) -> int:
        """The staging folder on this step's file system."""
        return self._fds[step.area]

    def new_name(self, step: Step) -> bytes:
        """Where this step's new content is staged, and its old content lies after an exchange."""
        return b"%d-%d" % (self.generation, step.number)

    def old_name(self, step: Step) -> bytes:
        """Where this step's old content is moved to."""
        return b"%d-%d.old" % (self.generation, step.number)

    def contents(self) -> Iterator[tuple[int, bytes]]:
        """Everything in the staging folders, as area and name."""
        for area, descriptor in self._fds.items():
            for name in self.calls.listdir(descriptor):
                yield area, os.fsencode(name)

    @property
    def is_there(self) -> bool:
        """Is at least one of the staging folders open?"""
        return bool(self._fds)

    def area_fd(self, area: int) -> int:
        """The staging folder of an area."""
        return self._fds[area]

    def stage(self, step: Step, new: Entry, parts: Iterable[bytes]) -> None:
        """Write this step's new content, with the permissions it will have in its place."""
        name = self.new_name(step)
        if new.mode == SYMLINK_MODE:
            self.calls.symlink(b"".join(parts), name, dir_fd=self.fd(step))
            status = self.calls.stat(name, dir_fd=self.fd(step), follow_symlinks=False)
        else:
            status = self._stage_file(step, name, new, parts)
        self.made[step.number] = seen_of(status, 0)

    def _stage_file(self, step: Step, name: bytes, new: Entry, parts: Iterable[bytes]) -> os.stat_result:
        calls = self.calls
        descriptor = calls.open(name, NEW_FILE, 0o600, dir_fd=self.fd(step))
        try:
            for part in parts:
                rest = memoryview(part)
                while rest:
                    rest = rest[calls.write(descriptor, rest) :]
            self._keep_owner(descriptor, step.seen)
            calls.fchmod(descriptor, self._permissions(step, new))
            if self._one_by_one:
                calls.fsync(descriptor)
            return calls.fstat(descriptor)
        finally:
            calls.close(descriptor)

    def _keep_owner(self, descriptor: int, seen: Seen | None) -> None:
        """A file of somebody else's, or of another group, stays theirs where the system lets us."""
        if seen is None or (seen.uid == os.geteuid() and seen.gid == os.getegid()):
            return
        with suppress(PermissionError):
            self.calls.fchown(descriptor, seen.uid, seen.gid)

    def _permissions(self, step: Step, new: Entry) -> int:
        executable = new.mode == EXECUTABLE_MODE
        if step.seen is not None and stat.S_ISREG(step.seen.mode):
            return with_executable(step.seen.mode & 0o777, executable)
        return with_executable(self._folders.nearest(step.folder).mode & 0o666, executable)

    def sync(self) -> None:
        """Everything staged is durable when this returns."""
        if self._one_by_one:
            return  # each file was synced; a name that a power cut loses is staged again from the store
        for descriptor in self._fds.values():
            sync_file_system(self.calls, descriptor, self._sync_all_files)

    def _sync_all_files(self) -> None:
        for area, name in self.contents():
            try:
                descriptor = self.calls.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=self._fds[area])
            except OSError as error:
                if error.errno in (errno.ELOOP, errno.EACCES):
                    continue  # a symlink has nothing to sync; without the right to read nothing can be done
                raise
            try:
                self.calls.fsync(descriptor)
            finally:
                self.calls.close(descriptor)

    def remove_folders(self) -> None:
        """Remove the staging folders. One that somebody put something into stays."""
        self.close()
        for number, path in reversed(list(enumerate(self.areas))):
            around = self._folders.open(path).fd
            if number in self._apart:
                self._remove_inside(around)
            self._remove(around)

    def _remove_inside(self, around: int) -> None:
        try:
            outside = self._open(around)
        except FileNotFoundError:
            return
        try:
            self._remove(outside)
        finally:
            self.calls.close(outside)

    def _remove(self, around: int) -> None:
        try:
            self.calls.rmdir(self._name, dir_fd=around)
        except FileNotFoundError:
            pass
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise

    def sync_above(self) -> None:
        """Have staging folders that were removed stay so: a power cut must not bring back what no journal names."""
        for path in self.areas:
            self.calls.fsync(self._folders.open(path).fd)


def with_executable(mode: int, executable: bool) -> int:
    """These permissions with the executable bits set or cleared, unless the owner's is right already."""
    if executable == bool(mode & stat.S_IXUSR):
        return mode
    return mode | (mode & 0o444) >> 2 | stat.S_IXUSR if executable else mode & ~0o111


def sync_file_system(calls: Calls, descriptor: int, otherwise: Callable[[], None]) -> None:
    """Make everything on this file system durable, or do what there is to do where that call is missing."""
    try:
        calls.syncfs(descriptor)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
        otherwise()
