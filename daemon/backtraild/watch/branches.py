"""Folders by where they are: everything below one of them is found without going through all of them."""

from bisect import bisect_left
from collections.abc import Collection

from backtraild.model import Path, split_path


class Branches:
    """A set of paths. A folder's parents are kept with it, known or not, as the way that leads to it."""

    def __init__(self) -> None:
        self._below: dict[Path, set[Path]] = {}
        self._members: set[Path] = set()
        # Taken in at once, each with a slash behind it: that is the order of a walk. Some may have been removed since.
        self._adopted: list[bytes] = []

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

    def adopt(self, paths: Collection[Path]) -> None:
        """Take in very many paths for next to nothing, above all in the order of a walk. There are none yet.

        In another order, what is below a folder would be sought in the wrong place, and other folders be let go of.
        """
        self._members.update(paths)
        self._adopted = sorted([path + b"/" for path in paths if path])

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
        found = self._walk(scope)
        found.update(path for place in self._adopted_below(scope) if (path := place[:-1]) in self._members)
        return sorted(found, key=len, reverse=True)

    def _walk(self, scope: Path) -> set[Path]:
        ways = [scope]
        found = set()
        while ways:
            path = ways.pop()
            if path in self._members:
                found.add(path)
            ways.extend(self._below.get(path, ()))
        return found

    def _adopted_below(self, scope: Path) -> list[bytes]:
        if not scope:
            return self._adopted
        begin = bisect_left(self._adopted, scope + b"/")
        end = bisect_left(self._adopted, scope + b"0", begin)  # the byte after a slash
        return self._adopted[begin:end]
