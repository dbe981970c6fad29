"""What watchers have in common that only give hints: a look at everything decides what happened."""

from collections.abc import Mapping, Set

from backtraild.ignore import FolderRules, RulesOf
from backtraild.model import Path, is_below


class HintingWatcher:
    """Prepares nothing for a folder that is looked at, and never knows whether it has told everything."""

    def __init__(self) -> None:
        self._shut: dict[Path, str] = {}

    @property
    def unwatched(self) -> Mapping[Path, str]:
        """Folders that can't be listed, with the reason."""
        return self._shut

    def enter(self, folder: Path, descriptor: int) -> None:  # noqa: ARG002 (the protocol has it)
        """Nothing to prepare."""
        self._shut.pop(folder, None)

    def adopt(self, numbers: Mapping[Path, int], rules_of: RulesOf) -> None:
        """Nothing is told of them that would be looked at."""

    def shut_out(self, folder: Path, reason: str) -> None:
        """It is looked at again with everything else."""
        self._shut[folder] = reason

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """The look at what was reported applies the rules."""

    def rules(self, folder: Path) -> FolderRules | None:  # noqa: ARG002 (the protocol has it)
        """An event that would tell of others may be lost."""
        return None

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """Forget what was shut in a scope that was looked at and where it was not met."""
        for path in [path for path in self._shut if not scope or path == scope or is_below(path, scope)]:
            if path not in entered:
                del self._shut[path]

    def barrier(self, seconds: float) -> bool:  # noqa: ARG002 (the protocol has it)
        """Events may be lost or late, or there are none: only a look at everything can tell."""
        return False
