"""What changed from one tree to the next, remembered from the save that found it: nobody need compare the two.

Trees are known by their ids, and the same two differ the same for ever.
"""

import contextlib
from collections.abc import Iterator

from backtraild.model import Changes
from backtraild.store import Kept

KEPT_BYTES = 1024 * 1024
# Changes: of more, as of a checkout, few are asked for, and comparing is quick beside telling them.
LARGEST = 250
_BESIDE_CHANGES = 500  # what a step takes in which nothing changed
_BESIDE_PATH = 450  # what a change takes with both of its sides

_Trees = tuple[str | None, str]  # None stands for the empty one


class Steps:
    """Those that were made or asked for last. Used by one thread."""

    def __init__(self) -> None:
        self._kept: Kept[_Trees, Changes] = Kept(KEPT_BYTES)
        self._expected: tuple[str | None, Changes, str] | None = None

    @contextlib.contextmanager
    def expecting(self, old: str | None, changes: Changes, new: str) -> Iterator[None]:
        """In this block somebody is about to make a step, of any size, that leads from one tree to another."""
        self._expected = old, changes, new
        try:
            yield
        finally:
            self._expected = None

    def leading_to(self, old: str | None, changes: Changes) -> str | None:
        """The tree that is expected of these changes, if it was them and no others that were expected."""
        if self._expected is None or self._expected[:2] != (old, changes):
            return None
        return self._expected[2]

    def between(self, old: str | None, new: str) -> Changes | None:
        """How the second tree differs from the first, if that is known."""
        return self._kept.get((old, new))

    def keep(self, old: str | None, new: str, changes: Changes) -> None:
        """Remember what differs, unless it is much."""
        if len(changes) <= LARGEST:
            size = _BESIDE_CHANGES + sum(_BESIDE_PATH + len(path) for path in changes)
            self._kept.keep((old, new), changes, size)
