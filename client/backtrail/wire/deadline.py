"""A moment until which something is waited for, however many steps it takes."""

import math
import time


class Deadline:
    """So many seconds from now; never, where they are None."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._at = math.inf if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """The seconds that are left, 0 where it has passed; None if it never comes."""
        return None if self._at == math.inf else max(0.0, self._at - time.monotonic())

    def milliseconds(self) -> int | None:
        """What is left, as ZeroMQ's polls want it: rounded up, so that none wakes up too early."""
        left = self.left()
        return None if left is None else math.ceil(left * 1000)

    def passed(self) -> bool:
        """Whether nothing is left."""
        return time.monotonic() >= self._at

    def at_most(self, seconds: float) -> "Deadline":
        """This one, or one that comes earlier."""
        left = self.left()
        return Deadline(seconds if left is None else min(left, seconds))
