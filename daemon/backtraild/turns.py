"""One at a time for each name: whoever comes second waits until the first one is through."""

import contextlib
import threading
from collections.abc import Iterator

from backtrail.errors import DaemonStopping


class Turns:
    """Names that somebody is busy with. Other names are free meanwhile, however long it takes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken: set[str] = set()
        self._closed = False

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """In this block, nobody else is busy with the name. Not to be nested for the same one."""
        with self._changed:
            self._changed.wait_for(lambda: name not in self._taken)
            if self._closed:
                raise DaemonStopping("The Backtrail daemon is stopping.", "Ask again in a moment.")
            self._taken.add(name)
        try:
            yield
        finally:
            with self._changed:
                self._taken.discard(name)
                self._changed.notify_all()

    def close(self) -> None:
        """Let nobody begin, and wait until everybody is through."""
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: not self._taken)
