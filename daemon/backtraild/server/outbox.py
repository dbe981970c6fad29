"""What other threads have for the socket loop: they put it here and wake it, and never wait themselves."""

import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator

Errand = Callable[[], object]


class Outbox:
    """A queue of errands for one thread. A pipe wakes it, since that is what a poll can wait for everywhere."""

    def __init__(self) -> None:
        self._errands: deque[Errand] = deque()
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._reading, False)
        os.set_blocking(self._writing, False)
        self._is_woken = False

    @property
    def descriptor(self) -> int:
        """Readable when there is something to do."""
        return self._reading

    def post(self, errand: Errand) -> None:
        """Have the loop do something."""
        self._errands.append(errand)
        self.wake()

    def wake(self) -> None:
        """End the loop's wait. One byte is enough, however many errands follow."""
        if not self._is_woken:
            self._is_woken = True
            with contextlib.suppress(BlockingIOError):  # a full pipe wakes just as well
                os.write(self._writing, b"!")

    def take(self) -> Iterator[Errand]:
        """What there is to do."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._reading, 4096)
        # Before the errands are taken: whoever adds one from here on writes another byte.
        self._is_woken = False
        for _ in range(len(self._errands)):
            yield self._errands.popleft()

    def close(self) -> None:
        """Let go of the pipe."""
        os.close(self._reading)
        os.close(self._writing)
