"""The way from the root to the folder that was looked at last, kept open: the next one is often beside it."""

import os
from types import TracebackType
from typing import Self

from backtraild.ignore import FolderRules
from backtraild.model import Path, is_below
from backtraild.scan.folders import Folder, enter_root

OPEN_AT_ONCE = 64  # folders may be nested deeper than a process may have files open


class Way:
    """Open folders, each inside the one before; used in a `with`, which closes them."""

    def __init__(self, root: bytes, rules: FolderRules) -> None:
        self._root = root
        self._rules = rules
        self._folders: list[Folder] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._folders:
            self._leave_last()

    def turn_to(self, path: Path) -> tuple[Folder, list[bytes]]:
        """The deepest open folder on the way to a path, and the names that lead on from there."""
        while self._folders and not _leads_to(path, self._folders[-1]):
            self._leave_last()
        if not self._folders:
            self._folders.append(enter_root(self._root, self._rules))
        last = self._folders[-1]
        rest = path[len(last.path) :].removeprefix(b"/")
        return last, rest.split(b"/") if rest else []

    def go_down(self, folder: Folder) -> None:
        """A folder inside the last one, which is open; the way closes it."""
        if len(self._folders) == OPEN_AT_ONCE:
            self._leave_last()
        self._folders.append(folder)

    def _leave_last(self) -> None:
        os.close(self._folders.pop().descriptor)


def _leads_to(path: Path, folder: Folder) -> bool:
    return path == folder.path or is_below(path, folder.path)
