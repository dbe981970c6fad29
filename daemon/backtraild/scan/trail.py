"""The folders from where a look began down to where it is, of which only the deepest are open at a time."""

import os
from collections.abc import Iterator
from types import TracebackType
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from backtraild.scan.folders import Folder, open_folder

OPEN_AT_ONCE = 64  # a process may have 1,024 files open, often; folders may be nested deeper than that

_CLOSED = -1


class _Level(Struct):
    """A folder, and those of its subfolders that are still to be entered."""

    folder: Folder
    names: Iterator[bytes]
    identity: tuple[int, int] = (0, 0)  # device and inode, known once it was closed


class Trail:
    """A stack of open folders that owns their descriptors; used in a `with`, which closes what is left."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []
        self._closed = 0  # so many of the topmost are closed for now

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for level in self._levels[self._closed :]:
            os.close(level.folder.descriptor)

    def __bool__(self) -> bool:
        return bool(self._levels)

    @property
    def folder(self) -> Folder:
        """The deepest folder. Its descriptor is good until the next step."""
        return self._levels[-1].folder

    def next_name(self) -> bytes | None:
        """A subfolder of the deepest folder that was not entered yet."""
        return next(self._levels[-1].names, None)

    def go_down(self, folder: Folder, names: Iterator[bytes]) -> None:
        """Step into a subfolder, which is open; the trail closes it."""
        self._levels.append(_Level(folder, names))
        if len(self._levels) - self._closed > OPEN_AT_ONCE:
            self._close_topmost()

    def go_up(self) -> list[Folder]:
        """Leave the deepest folder. Where the way back is lost, as it was moved, the folders that were not done yet."""
        left = self._levels.pop().folder
        try:
            if self._levels and self._closed == len(self._levels):
                return self._reopen(left.descriptor)
        finally:
            os.close(left.descriptor)
        return []

    def _close_topmost(self) -> None:
        level = self._levels[self._closed]
        status = os.fstat(level.folder.descriptor)
        level.identity = status.st_dev, status.st_ino
        os.close(level.folder.descriptor)
        level.folder = replace(level.folder, descriptor=_CLOSED)
        self._closed += 1

    def _reopen(self, below: int) -> list[Folder]:
        """Find the parent through its child: a path from the top may lead elsewhere by now, and is long."""
        level = self._levels[-1]
        self._closed -= 1
        try:
            descriptor = _parent(below, level.identity)
        except OSError:
            lost, self._levels, self._closed = self._levels, [], 0
            return [level.folder for level in lost]
        level.folder = replace(level.folder, descriptor=descriptor)
        return []


def _parent(below: int, identity: tuple[int, int]) -> int:
    """The folder around an open one, if it is still the same."""
    descriptor = open_folder(b"..", below)
    status = os.fstat(descriptor)
    if (status.st_dev, status.st_ino) != identity:
        os.close(descriptor)
        raise FileNotFoundError
    return descriptor
