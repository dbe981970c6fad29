"""Who wants to know which folders are looked into: whatever watches them."""

from collections.abc import Mapping, Set
from typing import Protocol

from backtraild.ignore import FolderRules, RulesOf
from backtraild.model import Path


class Observer(Protocol):
    """Told about captured folders, each before it is listed: a change after that is noticed or still seen."""

    def enter(self, folder: Path, descriptor: int) -> None:
        """This folder is about to be listed."""
        ...

    def adopt(self, numbers: Mapping[Path, int], rules_of: RulesOf) -> None:
        """These folders are as they were, and watched already, under these numbers and rules."""
        ...

    def shut_out(self, folder: Path, reason: str) -> None:
        """This folder would be captured, but can't be listed."""
        ...

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """These rules hold for what is directly in the folder."""
        ...

    def rules(self, folder: Path) -> FolderRules | None:
        """Those that were last said to hold in a folder; None where a change of its ignore files may go unnoticed."""
        ...

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """All of a scope was looked at: folders in it that were not entered are captured no more."""
        ...


class NoObserver:
    """Nobody wants to know."""

    def enter(self, folder: Path, descriptor: int) -> None:
        """Nothing happens."""

    def adopt(self, numbers: Mapping[Path, int], rules_of: RulesOf) -> None:
        """Nothing happens."""

    def shut_out(self, folder: Path, reason: str) -> None:
        """Nothing happens."""

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """Nothing happens."""

    def rules(self, folder: Path) -> FolderRules | None:  # noqa: ARG002 (the protocol has it)
        """Nobody would notice a change."""
        return None

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """Nothing happens."""
