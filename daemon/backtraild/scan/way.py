"""The way from the root to the folder that was looked at last, kept open: the next one is often beside it."""

import os
from collections.abc import Callable
from types import TracebackType
from typing import Self

from backtraild.ignore import IGNORE_FILES, FolderRules
from backtraild.model import Path, is_below, join_path
from backtraild.scan.folders import Folder, descend, enter_root

OPEN_AT_ONCE = 64  # folders may be nested deeper than a process may have files open


class Way:
    """Open folders, each inside the one before; used in a `with`, which closes them."""

    def __init__(self, root: bytes, rules: FolderRules, known: Callable[[Path], FolderRules | None]) -> None:
        """`known` tells the rules in a folder whose ignore files need not be read; None if they have to be."""
        self._root = root
        self._rules = rules
        self._known = known
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
            self._folders.append(enter_root(self._root, self._rules, self._known(b"")))
        last = self._folders[-1]
        rest = path[len(last.path) :].removeprefix(b"/")
        return last, rest.split(b"/") if rest else []

    def go_down(self, place: Folder, name: bytes) -> Folder | None:
        """A captured folder inside the last one; None if there is none."""
        deeper = descend(place, name, IGNORE_FILES, self._known(join_path(place.path, name)))
        if deeper is not None:
            if len(self._folders) == OPEN_AT_ONCE:
                self._leave_last()
            self._folders.append(deeper)
        return deeper

    def _leave_last(self) -> None:
        os.close(self._folders.pop().descriptor)


def _leads_to(path: Path, folder: Folder) -> bool:
    return path == folder.path or is_below(path, folder.path)
