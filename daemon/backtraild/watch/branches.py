"""Folders by where they are: everything below one of them is found without going through all of them."""

from collections.abc import Iterator

from backtraild.model import Path, split_path


class Branches:
    """A set of paths. A folder's parents are kept with it, known or not, as the way that leads to it."""

    def __init__(self) -> None:
        self._below: dict[Path, set[Path]] = {}
        self._members: set[Path] = set()

    def __len__(self) -> int:
        return len(self._members)

    def add(self, path: Path) -> None:
        """Take a path in; harmless if it is there."""
        if path in self._members:
            return  # and so is the way to it
        self._members.add(path)
        while path:
            parent = split_path(path)[0]
            beside = self._below.setdefault(parent, set())
            if path in beside:
                return
            beside.add(path)
            path = parent

    def remove(self, path: Path) -> None:
        """Forget a path, and the way to it as far as it leads nowhere else."""
        self._members.discard(path)
        while path and path not in self._members and not self._below.get(path):
            self._below.pop(path, None)
            parent = split_path(path)[0]
            self._below.get(parent, set()).discard(path)
            path = parent

    def below(self, scope: Path) -> list[Path]:
        """The paths in a scope, itself included; those of a folder before the folder."""
        return list(self._walk(scope))

    def _walk(self, scope: Path) -> Iterator[Path]:
        ways = [scope]
        found = []
        while ways:
            path = ways.pop()
            if path in self._members:
                found.append(path)
            ways.extend(self._below.get(path, ()))
        return reversed(found)
