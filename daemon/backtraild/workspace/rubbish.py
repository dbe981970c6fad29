"""Whether bytes are on the disk that nothing needs any more: kept in the table, so that the next daemon knows."""

import contextlib

from backtrail.errors import StoreFailed
from backtraild.state import TableLost
from backtraild.workspace.catalogue import Catalogue
from backtraild.workspace.parts import Parts

_FACT = "rubbish"


class Rubbish:
    """What was let go and not taken away yet. A lost note only lets it lie until more is let go."""

    def __init__(self, parts: Parts, catalogue: Catalogue) -> None:
        self._parts = parts
        self._catalogue = catalogue
        self.left = 0  # how often some was left since the store was opened
        self.is_there = self._read()

    def leave(self) -> None:
        """Something was let go."""
        self.left += 1
        self._note(True)

    def took_away(self) -> None:
        """There is none any more."""
        self._note(False)

    def _note(self, is_there: bool) -> None:
        if is_there is not self.is_there:
            self.is_there = is_there
            with contextlib.suppress(StoreFailed):
                self._write("yes" if is_there else "no")

    def _read(self) -> bool:
        try:
            with self._parts.database.transaction():
                return self._parts.database.fact(_FACT) == "yes"
        except TableLost:
            self._catalogue.fell_behind()
            return True

    def _write(self, value: str) -> None:
        try:
            with self._parts.database.transaction():
                self._parts.database.remember(_FACT, value)
        except TableLost:
            self._catalogue.fell_behind()
