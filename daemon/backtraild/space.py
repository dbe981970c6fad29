"""How much of a disk Backtrail leaves alone, and how much is free on it."""

import os

from msgspec import Struct

# Without a wish of the owner's, the smaller of the two is left free.
FLOOR_BYTES = 100_000_000
FLOOR_PART = 20


class Space(Struct, frozen=True):
    """What is free on a disk, and how much of that is not to be used."""

    free: int
    floor: int

    @property
    def room(self) -> int:
        """What may still be written."""
        return max(0, self.free - self.floor)


def look(folder: str, wanted: int | None) -> Space:
    """The disk that holds a folder; `wanted` is the floor its owner asks for, None where he does not."""
    found = os.statvfs(folder)
    return Space(found.f_bavail * found.f_frsize, floor(wanted, found.f_blocks * found.f_frsize))


def floor(wanted: int | None, total: int) -> int:
    """How many bytes of a disk of that size are left free."""
    return min(FLOOR_BYTES, total // FLOOR_PART) if wanted is None else wanted
