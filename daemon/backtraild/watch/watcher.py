"""What every way of watching one workspace offers."""

from collections.abc import Mapping, Set
from typing import Protocol

from backtraild.ignore import FolderRules, RulesOf
from backtraild.model import Path


class Watcher(Protocol):
    """Watches one workspace and marks in its `Dirt` what may have changed."""

    @property
    def kind(self) -> str:
        """How it watches, for `status`."""
        ...

    @property
    def unwatched(self) -> Mapping[Path, str]:
        """Folders that can't be watched, with the reason; the worker looks at them on a timer."""
        ...

    def enter(self, folder: Path, descriptor: int) -> None:
        """A captured folder is about to be listed: from now on, changes in it are noticed."""
        ...

    def adopt(self, numbers: Mapping[Path, int], rules_of: RulesOf) -> None:
        """These folders have watches of the kernel already, under these numbers."""
        ...

    def shut_out(self, folder: Path, reason: str) -> None:
        """A captured folder can't be listed: it counts as unwatched."""
        ...

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """Changes of what these rules exclude from the folder need not be noticed."""
        ...

    def rules(self, folder: Path) -> FolderRules | None:
        """Those in force in a folder, if a change of its ignore files is sure to be noticed; else None."""
        ...

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """A scope was looked at: folders in it that were not entered are captured no more."""
        ...

    def barrier(self, seconds: float) -> bool:
        """True when everything that happened before the call has been marked; False if that can't be said."""
        ...

    def close(self) -> None:
        """Stop watching."""
        ...
