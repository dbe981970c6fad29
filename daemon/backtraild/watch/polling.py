"""Looking at everything now and then: for network and FUSE file systems, which report nobody's changes."""

import threading
from collections.abc import Mapping, Set

from backtraild.ignore import FolderRules
from backtraild.model import Path
from backtraild.watch.dirt import Dirt

INTERVAL = 10.0


class PollingWatcher:
    """Marks everything at an interval. It can't know what happened, so a barrier is never reached."""

    kind = "poll"
    unwatched: Mapping[Path, str] = {}

    def __init__(self, dirt: Dirt, interval: float = INTERVAL) -> None:
        self._dirt = dirt
        self._interval = interval
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="polling", daemon=True)
        self._thread.start()

    def enter(self, folder: Path, descriptor: int) -> None:
        """Nothing to prepare."""

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """The look at what was reported applies the rules."""

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """Nothing to undo."""

    def barrier(self, seconds: float) -> bool:  # noqa: ARG002 (the protocol has it)
        """Only a look at everything can tell."""
        return False

    def close(self) -> None:
        """Stop looking."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            self._dirt.mark_everything("this file system is looked at from time to time")
