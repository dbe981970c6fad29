"""Which folder of which workspace each of the kernel's watches stands for."""

from collections.abc import Mapping
from itertools import repeat
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


class Targets:
    """By the numbers of the watches. The caller makes sure that one thread at a time uses them.

    The kernel gives a folder one watch, also where it lies in two workspaces: hence several targets.
    """

    def __init__(self) -> None:
        self._aimed: dict[int, tuple[Target, ...]] = {}
        # Most folders rest for as long as a daemon lives: targets are made of these when something happens in them.
        self._adopted: dict[int, tuple[Noticing, RulesOf, Path]] = {}

    def __len__(self) -> int:
        return len(self._aimed) + len(self._adopted)

    def of(self, number: int) -> tuple[Target, ...]:
        """What a watch stands for; empty where that is not known."""
        adopted = self._adopted.pop(number, None)
        if adopted is not None:
            watcher, rules_of, folder = adopted
            self._aimed[number] = (Target(watcher, folder, rules_of(folder)),)
        return self._aimed.get(number, ())

    def aim(self, number: int, target: Target) -> None:
        """Let a watch stand for a folder, and no longer for another one of the same workspace."""
        self._aimed[number] = (*self._others(number, target.watcher), target)

    def adopt(self, watcher: Noticing, numbers: Mapping[Path, int], rules_of: RulesOf) -> None:
        """Let many watches stand for folders of a workspace."""
        new = numbers.values()
        if self._aimed.keys().isdisjoint(new) and self._adopted.keys().isdisjoint(new):
            self._adopted.update(zip(new, zip(repeat(watcher), repeat(rules_of), numbers), strict=True))
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
        self._adopted.pop(number, None)
        self._aimed.pop(number, None)

    def _others(self, number: int, watcher: Noticing) -> tuple[Target, ...]:
        return tuple(target for target in self.of(number) if target.watcher is not watcher)
