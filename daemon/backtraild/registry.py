"""Which folders are watched, and how: one small file, replaced as a whole.

Each workspace's store is labelled with the same, so that a list that is lost or damaged is made again from the labels.
"""

import contextlib
import errno
import hashlib
import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from backtrail.errors import BacktrailError, StoreFailed
from backtrail.pathtext import from_text, to_text
from backtrail.regular import read_regular
from backtraild import durable
from backtraild.model import WorkspaceConfig
from backtraild.spare import Spare

VERSION = 1
LARGEST = 64 * 1024 * 1024  # bytes of a list, far more than folders can be watched


class Registered(Struct, frozen=True):
    """A watched folder. The id is made from its path, so that watching it again finds its checkpoints."""

    id: str
    root: str
    config: WorkspaceConfig
    paused: bool = False
    forced: bool = False  # its owner lifted the size limits; a baseline that a crash cut short keeps that
    store: str | None = None  # in which folder its owner wants the store; None is among the daemon's data


class _File(msgspec.Struct):
    version: int
    workspaces: list[Registered]


class _Label(msgspec.Struct):
    version: int
    watched: bool
    workspace: Registered


class RegistryDamaged(BacktrailError):
    """The list of watched folders can't be read."""

    code = "registry-damaged"


class RegistryUnusable(RegistryDamaged):
    """It is not damaged, only not to be read here: its owner can change that."""


class Registry:
    """The list of watched folders. `labels` is the folder in which each workspace has one of its own."""

    def __init__(self, path: str, labels: str | None = None) -> None:
        self._path = path
        self._labels = labels
        self._spare = Spare(os.path.join(os.path.dirname(path), "spare"))
        self.rebuilt: str | None = None  # how the list was made again, if it had to be
        try:
            found = self._read()
        except RegistryUnusable:
            raise
        except RegistryDamaged as error:
            if labels is None:
                raise
            found = self._rebuilt(error.message)
        if found is None:
            found = [] if labels is None else self._rebuilt("The list of watched folders was missing.")
        self._entries = {entry.id: entry for entry in found}
        self._hidden: frozenset[str] = frozenset()
        self._label_all()

    def __iter__(self) -> Iterator[Registered]:
        return iter([entry for entry in list(self._entries.values()) if entry.id not in self._hidden])

    def get(self, workspace: str) -> Registered | None:
        """An entry by its id."""
        return None if workspace in self._hidden else self._entries.get(workspace)

    def around(self, path: str) -> Registered | None:
        """The innermost watched folder that contains a path."""
        found = [entry for entry in self if _contains(entry.root, path)]
        return max(found, key=lambda entry: len(entry.root), default=None)

    def overlapping(self, root: str) -> list[str]:
        """The watched folders inside or around a folder, other than itself."""
        others = [entry.root for entry in self if entry.root != root]
        return [other for other in others if _contains(other, root) or _contains(root, other)]

    def put(self, entry: Registered) -> None:
        """Add or replace an entry, durably."""
        self._write({**self._entries, entry.id: entry})
        self._label(entry, watched=True)

    def hide(self, workspace: str) -> None:
        """Have nobody find an entry that is about to be removed. It is still in the file, as after a crash."""
        self._hidden |= {workspace}

    def show(self, workspace: str) -> None:
        """It was not removed."""
        self._hidden -= {workspace}

    def remove(self, workspace: str) -> None:
        """Forget an entry, durably."""
        gone = self._entries.get(workspace)
        self._write({name: entry for name, entry in self._entries.items() if name != workspace})
        self.show(workspace)  # whoever comes next under this name is another one
        if gone is not None:
            self._label(gone, watched=False)

    def take_back(self, workspace: str) -> None:
        """Undo a `put`; where the disk does not let that be written, the next write does it."""
        try:
            self.remove(workspace)
        except StoreFailed:
            self._entries = {name: entry for name, entry in self._entries.items() if name != workspace}

    def _read(self) -> list[Registered] | None:
        """The entries; None if there is no list."""
        try:
            found = msgspec.json.decode(read_regular(self._path, LARGEST), type=_File)
            if found.version <= VERSION:
                return [_checked(entry) for entry in found.workspaces]
            raise self._unreadable(RegistryUnusable, f"a newer Backtrail wrote it (version {found.version})")
        except FileNotFoundError:
            return None
        except OSError as error:
            is_damage = error.errno in (errno.EISDIR, errno.EIO, errno.EINVAL, errno.EFBIG)
            raise self._unreadable(RegistryDamaged if is_damage else RegistryUnusable, error) from error
        except ValueError as error:  # msgspec's errors are ValueErrors
            raise self._unreadable(RegistryDamaged, error) from error

    def _unreadable(self, kind: type[RegistryDamaged], reason: object) -> RegistryDamaged:
        return kind(
            f"The list of watched folders, {self._path}, can't be read: {reason}.",
            "Move the file away and watch the folders again: their checkpoints are found by their paths.",
        )

    def _rebuilt(self, reason: str) -> list[Registered]:
        """The list as the labels tell it; what was damaged is kept beside it."""
        found = [label.workspace for label in self._read_labels() if label.watched]
        if os.path.lexists(self._path):
            aside = f"{self._path}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}"
            os.replace(self._path, aside)
            reason += f" It is {aside} now."
        elif not found:  # there never was one
            return found
        self._write({entry.id: entry for entry in found})
        self.rebuilt = f"{reason} It was made again from the stores: {_count(len(found))} watched."
        return found

    def _read_labels(self) -> Iterator[_Label]:
        folder = self._labels or ""
        try:
            names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        except OSError as error:
            raise self._unreadable(RegistryUnusable, error) from error
        for name in names:
            # One that is missing or damaged: its folder has to be watched again by hand.
            with contextlib.suppress(OSError, ValueError):
                label = msgspec.json.decode(read_regular(_label_file(folder, name), LARGEST), type=_Label)
                label.workspace = _checked(label.workspace)
                if label.workspace.id == name:
                    yield label

    def _label_all(self) -> None:
        """Have the labels say what the list says, also after a crash between the two."""
        if self._labels is None:
            return
        known = {label.workspace.id: label for label in self._read_labels()}
        for entry in self:
            if entry.id not in known or known[entry.id] != _Label(VERSION, True, entry):
                self._label(entry, watched=True)
        for name, label in known.items():
            if label.watched and name not in self._entries:
                self._label(label.workspace, watched=False)

    def _label(self, entry: Registered, *, watched: bool) -> None:
        if self._labels is None:
            return
        content = msgspec.json.encode(_Label(VERSION, watched, _shown(entry)))
        file = _label_file(self._labels, entry.id)
        # Such as a full disk: the list stands, and the next start tries again.
        with contextlib.suppress(OSError):
            if watched:
                durable.make_folder(os.path.dirname(file))
            durable.replace_file(file, msgspec.json.format(content))

    def _write(self, entries: dict[str, Registered]) -> None:
        content = msgspec.json.encode(_File(VERSION, [_shown(entry) for entry in entries.values()]))
        try:
            # On a full disk, too: no store can be purged whose folder is not forgotten.
            self._spare.spent_on(lambda: durable.replace_file(self._path, msgspec.json.format(content)))
        except OSError as error:
            self._put_back()
            raise StoreFailed(
                f"The list of watched folders could not be written: {error.strerror or error}.",
                "Nothing was changed. Look at free space and permissions, then try again.",
            ) from error
        self._entries = entries
        self._spare.keep(len(content))

    def _put_back(self) -> None:
        """The new list may be in its place and only not durable: nobody is told of it, so the old one has to stand."""
        content = msgspec.json.encode(_File(VERSION, [_shown(entry) for entry in self._entries.values()]))
        with contextlib.suppress(OSError):
            durable.replace_file(self._path, msgspec.json.format(content))


def _count(folders: int) -> str:
    return "1 folder is" if folders == 1 else f"{folders:,} folders are"


def _label_file(folder: str, workspace: str) -> str:
    return os.path.join(folder, workspace, "workspace.json")


def _checked(entry: Registered) -> Registered:
    root = os.fsdecode(from_text(entry.root))
    if entry.id != workspace_id(root):
        raise ValueError(f"{entry.id} is not the name of {entry.root}")
    store = None if entry.store is None else os.fsdecode(from_text(entry.store))
    return replace(entry, root=root, store=store)


def _shown(entry: Registered) -> Registered:
    """As it stands in the file, where a path that is not UTF-8 has to be written as text."""
    store = None if entry.store is None else to_text(os.fsencode(entry.store))
    return replace(entry, root=to_text(os.fsencode(entry.root)), store=store)


def _contains(folder: str, path: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def workspace_id(root: str) -> str:
    """A name for a folder that is readable and belongs to its path alone."""
    digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:10]
    readable = re.sub(r"[^a-z0-9]+", "-", os.path.basename(root).lower()).strip("-")[:24]
    return f"{readable or 'workspace'}-{digest}"
