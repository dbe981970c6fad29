"""Connections that nobody uses at the moment, kept for the next call of any thread."""

import os
import threading

from backtrail.wire.connection import Connection

# More calls than this may be under way at once; only so many connections are kept afterwards.
KEPT = 8


class Pool:
    """Belongs to one process. A connection is either in here or in the hands of one thread, never both."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[Connection] = []
        self._is_closed = False

    def borrow(self) -> Connection | None:
        """A connection that was not lost meanwhile, if there is one."""
        while (connection := self._taken()) is not None:
            if connection.is_usable():
                return connection
            connection.close()
        return None

    def give_back(self, connection: Connection) -> None:
        """A connection whose request was answered."""
        with self._lock:
            if not self._is_closed and len(self._idle) < KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Let go of all, and of those that are given back later."""
        with self._lock:
            self._is_closed = True
        while (connection := self._taken()) is not None:
            connection.close()

    def _taken(self) -> Connection | None:
        with self._lock:
            return self._idle.pop() if self._idle else None
