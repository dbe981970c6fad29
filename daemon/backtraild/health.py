"""How a workspace is doing: what is wrong with it now, if anything."""

import threading
from collections.abc import Callable, Mapping


class Health:
    """Troubles by their cause. Written by the worker, read by whoever asks for the status."""

    def __init__(self, tell: Callable[[str, Mapping[str, str]], None]) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._troubles: dict[str, str] = {}
        self.activity = "scanning"

    @property
    def state(self) -> str:
        """`scanning`, `watching` or `paused`; `degraded` whenever something is wrong."""
        return "degraded" if self._troubles else self.activity

    @property
    def reasons(self) -> list[str]:
        """What is wrong, in words."""
        with self._lock:
            return list(self._troubles.values())

    def trouble(self, cause: str, reason: str) -> None:
        """Something is wrong; told once as long as it stays the same."""
        with self._lock:
            known = self._troubles.get(cause)
            self._troubles[cause] = reason
        if known != reason:
            self._tell("degraded", {"cause": cause, "reason": reason})

    def well(self, cause: str) -> None:
        """This is no longer wrong."""
        with self._lock:
            known = self._troubles.pop(cause, None)
            healthy = not self._troubles
        if known is not None and healthy:
            self._tell("recovered", {"cause": cause, "reason": known})
