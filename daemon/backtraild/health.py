"""How a workspace is doing: what is wrong with it now, if anything."""

import threading
from collections.abc import Callable, Mapping

from backtrail.errors import BacktrailError

Tell = Callable[[str, Mapping[str, str]], None]


class Health:
    """Troubles by their cause. Written by the worker, read by whoever asks for the status."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._lock = threading.Lock()
        self._troubles: dict[str, str] = {}
        self._untold: list[tuple[str, Mapping[str, str]]] = []
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
            self._untold.append(("degraded", {"cause": cause, "reason": reason}))
        self._tell_all()

    def well(self, cause: str) -> None:
        """This is no longer wrong."""
        with self._lock:
            known = self._troubles.pop(cause, None)
            healthy = not self._troubles
        if known is not None and healthy:
            self._untold.append(("recovered", {"cause": cause, "reason": known}))
        self._tell_all()

    def begin_anew(self) -> None:
        """Things have changed so much that what was wrong may be right: what is still wrong is told again."""
        for cause in list(self._troubles):
            self.well(cause)

    def _tell_all(self) -> None:
        """A full disk also keeps this from being told: it is told later, in its order."""
        try:
            while self._untold:
                self._tell(*self._untold[0])
                del self._untold[0]
        except BacktrailError:
            pass
