"""Who else can read files during a long look: what is asked of them, and what they answer."""

from collections.abc import Sequence
from typing import Protocol

from backtraild.scan.capture import Captured

Answer = list[Captured | None]
"""What came of each file of a batch; None for one that takes a closer look."""


class Deputy(Protocol):
    """Reads batches of plain files beside the look, as long as it has time for more."""

    def has_time(self, files: int) -> bool:
        """Is it worth while to order so many files now?"""
        ...

    def order(self, folder: int, names: Sequence[bytes]) -> bool:
        """Have these files of an open folder read; False if they will not be."""
        ...

    def answer(self, *, wait: bool) -> Answer | None:
        """What came of the oldest batch that was ordered and not answered; None if it is not done, or never will be."""
        ...
