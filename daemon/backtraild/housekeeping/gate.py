"""One at a time in the whole daemon: upkeep reads whole stores, and the disk is one."""

import threading
from collections.abc import Callable

Wake = Callable[[], None]


class Gate:
    """Nobody waits in it: who finds it shut is woken when it opens. Each is known by how to wake it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside: Wake | None = None
        self._turned_away: dict[Wake, None] = {}

    def enter(self, wake: Wake) -> bool:
        """Go in, if nobody is inside."""
        with self._lock:
            if self._inside is not None:
                self._turned_away[wake] = None
                return False
            self._inside = wake
            return True

    def leave(self, wake: Wake) -> None:
        """Come out, and wake those who were turned away; harmless for who is not inside."""
        with self._lock:
            self._turned_away.pop(wake, None)
            if self._inside != wake:
                return
            self._inside = None
            woken, self._turned_away = list(self._turned_away), {}
        for others_wake in woken:
            others_wake()
