"""Which daemon is asked: the one of this user, started if need be, or the one that a connection file names."""

import os
import time

from backtrail.errors import DaemonUnreachable
from backtrail.paths import places
from backtrail.protocol import ConnectionFile
from backtrail.wire.deadline import Deadline
from backtrail.wire.discovery import read_connection

# Without autostart, whoever runs the daemon is given this long to start it again.
RETURN_SECONDS = 5.0
_LOOK_SECONDS = 0.05

Location = str | os.PathLike[str]


class Locator:
    """Finds the daemon, again and again: its endpoints may change with every start."""

    def __init__(self, *, autostart: bool, home: Location | None, connection: Location | None) -> None:
        named = connection or (os.environ.get("BACKTRAIL_CONNECTION") if home is None else None)
        self._home = None if home is None else _absolute(home)
        self._named = _absolute(named) if named else None
        # Of this user's own daemon. One that a connection file names has no places here.
        self._places = places(self._home) if self._named is None else None
        self._file = self._named or str(places(self._home).connection_file)
        self.autostart = autostart and self._named is None and _is_allowed()

    def find(self, deadline: Deadline, *, autostart: bool = True) -> ConnectionFile:
        """Where the daemon should be, which is not always where it is; without any, it is started."""
        try:
            found = read_connection(self._file)
        except DaemonUnreachable:
            if not (autostart and self.autostart):
                raise
            return self.bring_back(deadline)  # which knows whether the file is a dead daemon's
        return found or self.bring_back(deadline, autostart=autostart)

    def bring_back(
        self, deadline: Deadline, *, autostart: bool = True, patience: float = 0.0
    ) -> ConnectionFile:
        """A daemon that listens, where there was none."""
        if autostart and self.autostart and self._places is not None:
            from backtrail.wire.starting import (
                start,
            )  # here, because most calls find a daemon and need not import it

            return start(self._places, self._home, deadline)
        limit = deadline.at_most(patience)
        while (found := self.look()) is None:
            if limit.passed():
                raise self._nobody()
            time.sleep(_LOOK_SECONDS)
        return found

    def look(self) -> ConnectionFile | None:
        """The daemon that listens now, if one does; it is never started here."""
        from backtrail.wire.listening import is_listening  # here, because most calls just connect

        found = read_connection(self._file)
        return found if found is not None and is_listening(found.requests) else None

    def _nobody(self) -> DaemonUnreachable:
        if self._named is not None:
            is_there = os.path.exists(self._named)
            return DaemonUnreachable(
                f"No daemon answers where {self._named} says."
                if is_there
                else f"The connection file {self._named} does not exist.",
                "Look whether the daemon runs there, and whether the file is the right one.",
            )
        return DaemonUnreachable(
            "No daemon is running.",
            "`backtrail daemon start` starts it. Commands start it too, unless --no-autostart or "
            "BACKTRAIL_NO_AUTOSTART is given.",
        )


def _absolute(path: Location) -> str:
    return os.path.abspath(os.path.expanduser(path))


def _is_allowed() -> bool:
    return os.environ.get("BACKTRAIL_NO_AUTOSTART", "") in ("", "0")
