"""Deciding what a restore does: what it writes, what it deletes, and what it must leave alone.

The rule: only what the safety checkpoint holds may be replaced or removed, because only that can be had back.
Anything else on the disk, at a path or on the way to it, is a conflict, and that path is left out.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from backtraild.model import SYMLINK_MODE, Change, Changes, Entry, Path
from backtraild.restore.calls import NOT_A_FOLDER
from backtraild.restore.content import Found, Seen, look
from backtraild.restore.folders import Folders, NoFolder, parent_of, with_all_above
from backtraild.restore.hostile import refuse_hostile

# These say something about the daemon and nothing about the file.
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


class Reason(StrEnum):
    """Why a path was left alone, as the end of the sentence "It was left alone because …"."""

    UNCAPTURED = "something that no checkpoint holds is there"
    CHANGED = "it changed after the safety checkpoint was made"
    FOLDER = "a folder is there that the restore cannot empty"
    PARENT = "a folder on the way to it is now a file, a symlink or left alone itself"
    UNREADABLE = "it cannot be read and compared"
    MOUNT_POINT = "it is a mount point"
    APPEARED = "something appeared there during the restore"
    KEPT_ASIDE = "it was written to during the restore; what was written lies beside it as *.backtrail-kept-*"


class Conflict(NamedTuple):
    """A path that the restore leaves alone."""

    path: Path
    reason: Reason


class Write(NamedTuple):
    """Put `new` at a path. `old` and `seen` are what is there now, None where there is nothing."""

    path: Path
    old: Entry | None
    new: Entry
    seen: Seen | None


class Delete(NamedTuple):
    """Take away what is at a path."""

    path: Path
    old: Entry
    seen: Seen


class ModeChange(NamedTuple):
    """Set or clear the executable bit; the content stays."""

    path: Path
    old: Entry
    new: Entry
    seen: Seen


class Plan(Struct, frozen=True):
    """What a restore will do, each list sorted by path.

    `folders` do not exist yet and will be created; `cleared` make room for files, once they are empty.
    """

    writes: tuple[Write, ...]
    deletes: tuple[Delete, ...]
    mode_changes: tuple[ModeChange, ...]
    conflicts: tuple[Conflict, ...]
    unchanged: int
    folders: tuple[Path, ...] = ()
    cleared: tuple[Path, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Is there nothing to do?"""
        return not (self.writes or self.deletes or self.mode_changes)


def plan_in(folders: Folders, changes: Changes, unchanged: int) -> Plan:
    """Compare the disk with both sides of `changes` and decide. Raises HostileTree before it looks."""
    refuse_hostile(changes)
    wanted = frozenset(path for path, change in changes.items() if change.new is not None)
    planner = _Planner(folders, unchanged, wanted)
    # Deletes first: whether a file may go where a folder is depends on what can be deleted in it.
    for path in sorted(path for path, change in changes.items() if change.new is None):
        planner.consider(path, changes[path], planner.plan_delete)
    for path in sorted(wanted):
        planner.consider(path, changes[path], planner.plan_write)
    return planner.plan()


class _LeftAlone(Exception):
    def __init__(self, reason: Reason) -> None:
        super().__init__(reason)
        self.reason = reason


class _Planner:
    def __init__(self, folders: Folders, unchanged: int, wanted: frozenset[Path]) -> None:
        self._cleared: set[Path] = set()
        self._wanted = wanted
        self._wanted_folders = with_all_above(parent_of(path) for path in wanted)
        self._folders = folders
        self._calls = folders.calls
        self._writes: list[Write] = []
        self._deletes: dict[Path, Delete] = {}
        self._mode_changes: list[ModeChange] = []
        self._conflicts: list[Conflict] = []
        self._missing: set[Path] = set()
        self._unchanged = unchanged

    def plan(self) -> Plan:
        return Plan(
            tuple(self._writes),
            tuple(self._deletes.values()),
            tuple(self._mode_changes),
            tuple(sorted(self._conflicts)),
            self._unchanged,
            tuple(sorted(self._missing)),
            tuple(sorted(self._cleared)),
        )

    def consider(self, path: Path, change: Change, decide: Callable[[Path, Change], None]) -> None:
        try:
            if path in self._folders.mounts:
                raise _LeftAlone(Reason.MOUNT_POINT)
            decide(path, change)
        except _LeftAlone as left:
            self._conflicts.append(Conflict(path, left.reason))
        except OSError as error:
            if error.errno in _EXHAUSTED:
                raise
            # EACCES, EIO: what cannot be compared cannot be known to be in the safety checkpoint.
            self._conflicts.append(Conflict(path, Reason.UNREADABLE))

    def plan_delete(self, path: Path, change: Change) -> None:
        found = self._look(path, deleting=True)
        if found is None or (stat.S_ISDIR(found.seen.mode) and path in self._wanted_folders):
            self._unchanged += 1  # gone already, and perhaps the folder is there that is wanted in its place
        elif change.old is None or found.entry != change.old:
            raise _LeftAlone(_why_unknown(found, change.old))
        else:
            self._deletes[path] = Delete(path, change.old, found.seen)

    def plan_write(self, path: Path, change: Change) -> None:
        new = change.new
        if new is None:
            return
        found = self._look(path)
        if found is None:
            self._write(Write(path, None, new, None))
        elif stat.S_ISDIR(found.seen.mode):
            if not self._will_be_empty(path):
                raise _LeftAlone(Reason.FOLDER)
            self._write(Write(path, None, new, None))
        elif found.entry == new:
            self._unchanged += 1
        elif change.old is None or found.entry != change.old:
            raise _LeftAlone(_why_unknown(found, change.old))
        elif change.old.oid == new.oid and SYMLINK_MODE not in (change.old.mode, new.mode):
            self._mode_changes.append(ModeChange(path, change.old, new, found.seen))
        else:
            self._write(Write(path, change.old, new, found.seen))

    def _write(self, write: Write) -> None:
        self._writes.append(write)
        if write.seen is None:
            self._missing.update(self._missing_above(parent_of(write.path)))

    def _missing_above(self, folder: Path) -> Iterator[Path]:
        while folder and folder not in self._missing:
            try:
                self._folders.open(folder)
            except NoFolder:
                yield folder
                folder = parent_of(folder)
            else:
                return

    def _look(self, path: Path, deleting: bool = False) -> Found | None:
        """What is at a path; None if there is nothing and nothing bars the way to it."""
        folder, _, name = path.rpartition(b"/")
        try:
            return look(self._calls, self._folders.open(folder).fd, name)
        except NoFolder as error:
            if error.errno == errno.ENOENT:
                return None
            if error.errno not in NOT_A_FOLDER:
                raise
            # A file or symlink on the way that this restore takes away makes room for a folder; and where a
            # file is wanted and is, there is nothing below it to delete.
            if error.path in (self._wanted if deleting else self._deletes):
                return None
            raise _LeftAlone(Reason.PARENT) from error

    def _will_be_empty(self, path: Path) -> bool:
        """Will the deletes of this plan leave nothing in the folder and the folders in it but themselves?

        Empty folders are in no checkpoint, but there is nothing in them to lose, as git sees it too.
        """
        inside, met = [path], set[Path]()
        while inside:
            folder = inside.pop()
            try:
                names = self._calls.listdir(self._folders.open(folder).fd)
            except NoFolder:
                return False  # a file that stays
            if folder in self._folders.mounts:
                return False
            met.add(folder)
            below = (folder + b"/" + os.fsencode(name) for name in names)
            inside += [entry for entry in below if entry not in self._deletes]
        self._cleared |= met
        return True


def _why_unknown(found: Found, old: Entry | None) -> Reason:
    if stat.S_ISDIR(found.seen.mode):
        return Reason.FOLDER
    return Reason.UNCAPTURED if old is None else Reason.CHANGED
