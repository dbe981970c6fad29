"""Which folder of which workspace each of the kernel's watches stands for."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from watchdog.observers.inotify_c import InotifyEvent

from backtraild.ignore import FolderRules, RulesOf
from backtraild.model import Path


class Noticing(Protocol):
    """Who wants to know what happens in a folder."""

    def noticed(self, target: "Target", event: InotifyEvent) -> None:
        """An event of a watch."""
        ...


class Target(NamedTuple):
    """A watched folder."""

    watcher: Noticing
    folder: Path
    rules: FolderRules | None = None  # not known until the folder has been listed: everything counts


class _Adoption(NamedTuple):
    """Folders of a workspace that rest. Most do for as long as a daemon lives, so no value is made for each of them."""

    watcher: Noticing
    rules_of: RulesOf
    folders: dict[int, Path]  # by the numbers of their watches


class Targets:
    """By the numbers of the watches. The caller makes sure that one thread at a time uses them.

    The kernel gives a folder one watch, also where it lies in two workspaces: hence several targets.
    """

    def __init__(self) -> None:
        self._aimed: dict[int, tuple[Target, ...]] = {}
        self._adoptions: list[_Adoption] = []

    def __len__(self) -> int:
        return len(self._aimed) + sum(len(adoption.folders) for adoption in self._adoptions)

    def of(self, number: int) -> tuple[Target, ...]:
        """What a watch stands for; empty where that is not known."""
        for watcher, rules_of, folders in self._adoptions:
            folder = folders.pop(number, None)
            if folder is not None:  # something happens there
                self._aimed[number] = (Target(watcher, folder, rules_of(folder)),)
        return self._aimed.get(number, ())

    def aim(self, number: int, target: Target) -> None:
        """Let a watch stand for a folder, and no longer for another one of the same workspace."""
        self._aimed[number] = (*self._others(number, target.watcher), target)

    def adopt(self, watcher: Noticing, numbers: Mapping[Path, int], rules_of: RulesOf) -> None:
        """Let many watches stand for folders of a workspace."""
        adoption = _Adoption(watcher, rules_of, dict(zip(numbers.values(), numbers, strict=True)))
        known = [self._aimed.keys(), *(earlier.folders.keys() for earlier in self._adoptions)]
        if all(adoption.folders.keys().isdisjoint(others) for others in known):
            self._adoptions.append(adoption)
        else:  # some lie in another workspace, too
            for folder, number in numbers.items():
                self.aim(number, Target(watcher, folder, rules_of(folder)))

    def release(self, number: int, watcher: Noticing, folder: Path) -> bool:
        """Let a watch no longer stand for a folder. Is it needed no more?

        It is where it has been given to the folder's new path, or serves another workspace.
        """
        if not any(target.watcher is watcher and target.folder == folder for target in self.of(number)):
            return False
        others = self._others(number, watcher)
        if others:
            self._aimed[number] = others
        else:
            del self._aimed[number]
        return not others

    def forget(self, number: int) -> None:
        """There is no such watch any more."""
        for adoption in self._adoptions:
            adoption.folders.pop(number, None)
        self._aimed.pop(number, None)

    def _others(self, number: int, watcher: Noticing) -> tuple[Target, ...]:
        return tuple(target for target in self.of(number) if target.watcher is not watcher)
