"""Events on their way out of the log, in its order."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable

from backtraild.model import Event

# In work that takes longer, nobody waits for the microseconds that publishing takes.
LONGEST_SECONDS = 0.05

_log = logging.getLogger(__name__)


class Announcing:
    """Publishes what is in the log. A thread may hold its own events back for a moment, and with them later ones."""

    def __init__(self, publish: Callable[[Event], None]) -> None:
        self._publish = publish
        self._waiting: deque[Event] = deque()
        self._one_by_one = threading.Lock()
        self._here = threading.local()

    @property
    def is_held_back(self) -> bool:
        """Does this thread hold its events back now?"""
        return time.monotonic() < getattr(self._here, "held_back_until", 0.0)

    def add(self, event: Event) -> None:
        """To be called in the order of the log, with its lock held."""
        self._waiting.append(event)
        if not self.is_held_back:
            self._publish_all()

    def hold_back(self) -> None:
        """For a moment, what this thread adds waits until it lets go, or until another thread publishes."""
        self._here.held_back_until = time.monotonic() + LONGEST_SECONDS

    def let_go(self) -> None:
        """Publish what this thread has held back, and what it adds from now on at once."""
        self._here.held_back_until = 0.0
        if self._waiting:
            self._publish_all()

    def _publish_all(self) -> None:
        with self._one_by_one:
            while self._waiting:
                event = self._waiting.popleft()
                try:
                    self._publish(event)
                except Exception:  # it is in the log, where those who miss it find it
                    _log.exception("event %d could not be published", event.seq)
