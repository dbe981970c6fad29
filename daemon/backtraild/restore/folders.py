"""Folders of a workspace, reached one component at a time and never through a symlink."""

import errno
import os
import re
from collections import OrderedDict
from collections.abc import Iterable
from types import TracebackType
from typing import NamedTuple, Self

from backtrail.errors import WorkspaceUnavailable
from backtrail.pathtext import to_text
from backtraild.model import Path
from backtraild.restore.calls import OPEN_FOLDER, Calls

_OPEN_AT_ONCE = 128
_OCTAL = re.compile(rb"\\([0-7]{3})")
_PLAIN = re.compile(rb"[!\"$-\[\]-~]+")  # what the kernel writes as it is


class Folder(NamedTuple):
    """An open folder. `top` is the highest folder from which a file can be renamed into this one."""

    fd: int
    mode: int
    dev: int
    top: Path


class NoFolder(OSError):
    """A component of the path is missing, is no folder or may not be opened; `path` says which."""

    path: Path = b""

    @staticmethod
    def at(path: Path, error: OSError) -> "NoFolder":
        """The same error with the component that caused it."""
        kind = MissingFolder if error.errno == errno.ENOENT else NoFolder
        found = kind(error.errno, error.strerror)
        found.path = path
        return found


class MissingFolder(NoFolder, FileNotFoundError):
    """There is nothing at that component."""


def parent_of(path: Path) -> Path:
    """The folder a path is in; the root's is the root."""
    return path.rpartition(b"/")[0]


def with_above(path: Path) -> list[Path]:
    """The path and the folders above it, without the root, the deepest first."""
    found = []
    while path:
        found.append(path)
        path = parent_of(path)
    return found


def with_all_above(paths: Iterable[Path]) -> set[Path]:
    """All these paths and every folder above one of them, without the root."""
    found: set[Path] = set()
    for path in paths:
        while path and path not in found:
            found.add(path)
            path = parent_of(path)
    return found


class Folders:
    """Open folders by path, the most recently used ones kept open.

    A descriptor stays with its folder wherever that is moved to, so a path that was walked once without
    meeting a symlink cannot be turned into one that leads outside.
    """

    def __init__(self, calls: Calls, root: str | bytes, limit: int = _OPEN_AT_ONCE) -> None:
        self.calls = calls
        try:
            descriptor, status = _open_folder(calls, os.fsencode(root), None)
        except OSError as error:
            name = to_text(os.fsencode(root))
            raise WorkspaceUnavailable(f"The workspace {name} cannot be opened: {error.strerror}.") from error
        self.ino = status.st_ino
        self.root = Folder(descriptor, status.st_mode, status.st_dev, b"")
        self.mounts = _mounts_below(descriptor)
        self._open: OrderedDict[Path, Folder] = OrderedDict()
        self._limit = limit

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for folder in self._open.values():
            self.calls.close(folder.fd)
        self._open.clear()
        self.calls.close(self.root.fd)

    def open(self, path: Path) -> Folder:
        """The folder at this path. Raises NoFolder. Use it before the next call: it may be closed by that."""
        if not path:
            return self.root
        known = self._open.get(path)
        if known is not None:
            self._open.move_to_end(path)
            return known
        return self._walk(path)

    def nearest(self, path: Path) -> Folder:
        """The folder at this path, or the deepest one above it that exists."""
        while True:
            try:
                return self.open(path)
            except NoFolder as error:
                path = parent_of(error.path)

    def create(self, path: Path) -> None:
        """Create one folder that only its owner may enter; its parent exists. Raises FileExistsError."""
        parent = self.open(parent_of(path))
        self.calls.mkdir(path.rpartition(b"/")[2], 0o700, dir_fd=parent.fd)

    def set_mode(self, path: Path, mode: int) -> Folder:
        """Give a folder these permissions."""
        folder = self.open(path)
        self.calls.fchmod(folder.fd, mode)
        changed = folder._replace(mode=mode)
        self._open[path] = changed
        return changed

    def remove(self, path: Path) -> None:
        """Remove one empty folder."""
        parent = self.open(parent_of(path))
        self.calls.rmdir(path.rpartition(b"/")[2], dir_fd=parent.fd)
        gone = self._open.pop(path, None)
        if gone is not None:
            self.calls.close(gone.fd)

    def _walk(self, path: Path) -> Folder:
        start = parent_of(path)
        while start and start not in self._open:
            start = parent_of(start)
        folder = self._open.get(start, self.root)
        rest = path[len(start) + 1 :] if start else path
        for name in rest.split(b"/"):
            start = start + b"/" + name if start else name
            folder = self._enter(folder, start, name)
        return folder

    def _enter(self, parent: Folder, path: Path, name: bytes) -> Folder:
        try:
            descriptor, status = _open_folder(self.calls, name, parent.fd)
        except OSError as error:
            raise NoFolder.at(path, error) from error
        # Btrfs subvolumes have their own device and no mount; bind mounts have a mount and the same device.
        crossed = status.st_dev != parent.dev or path in self.mounts
        folder = Folder(descriptor, status.st_mode, status.st_dev, path if crossed else parent.top)
        self._open[path] = folder
        if len(self._open) > self._limit:
            _, oldest = self._open.popitem(last=False)
            self.calls.close(oldest.fd)
        return folder


def _open_folder(calls: Calls, name: bytes, parent: int | None) -> tuple[int, os.stat_result]:
    descriptor = calls.open(name, OPEN_FOLDER, dir_fd=parent)
    try:
        return descriptor, calls.fstat(descriptor)
    except OSError:
        calls.close(descriptor)
        raise


def _mounts_below(root: int) -> frozenset[Path]:
    """Mount points inside the workspace, as far as this system tells (Linux)."""
    try:
        prefix = os.readlink(b"/proc/self/fd/%d" % root).rstrip(b"/") + b"/"
        with open("/proc/self/mountinfo", "rb") as table:
            mounts = table.read()
        if _PLAIN.fullmatch(prefix) and b" " + prefix not in mounts:
            return frozenset()  # as nearly always: nothing has to be taken apart to see that
        points = [line.split(b" ")[4] for line in mounts.splitlines()]
    except (OSError, IndexError):
        return frozenset()
    plain = (_OCTAL.sub(lambda octal: bytes([int(octal.group(1), 8)]), point) for point in points)
    return frozenset(point[len(prefix) :] for point in plain if point.startswith(prefix))
