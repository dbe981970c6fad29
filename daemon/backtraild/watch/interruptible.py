"""An observer that ends a long look at the disk when the daemon shall end."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Set

from backtrail.errors import WorkspaceUnavailable
from backtraild.ignore import FolderRules, RulesOf
from backtraild.model import Path
from backtraild.watch.watcher import Watcher


class Interrupted(WorkspaceUnavailable):
    """The daemon is stopping; what was not looked at will be at the next start."""


class Interruptible:
    """Hands everything on to a watcher, and asks before each folder whether to go on."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._stop: Callable[[], bool] | None = None

    @contextlib.contextmanager
    def until(self, stop: Callable[[], bool]) -> Iterator[None]:
        """In this block, a look ends with Interrupted once `stop` says so."""
        self._stop = stop
        try:
            yield
        finally:
            self._stop = None

    def enter(self, folder: Path, descriptor: int) -> None:
        """A folder is about to be listed."""
        if self._stop is not None and self._stop():
            raise Interrupted("Backtrail is stopping.")
        self._watcher.enter(folder, descriptor)

    def adopt(self, numbers: Mapping[Path, int], rules_of: RulesOf) -> None:
        """Folders that need not be entered to be watched."""
        self._watcher.adopt(numbers, rules_of)

    def shut_out(self, folder: Path, reason: str) -> None:
        """A captured folder can't be entered."""
        self._watcher.shut_out(folder, reason)

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """These rules hold for what is directly in the folder."""
        self._watcher.govern(folder, rules)

    def rules(self, folder: Path) -> FolderRules | None:
        """Those in force in a folder, where that is known."""
        return self._watcher.rules(folder)

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """All of a scope was looked at."""
        self._watcher.leave(scope, entered)
