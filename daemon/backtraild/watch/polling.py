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

    def __init__(self, dirt: Dirt, interval: float | None = None, trouble: str | None = None) -> None:
        self._dirt = dirt
        self._interval = INTERVAL if interval is None else interval
        # Where polling is only second best, the root counts as a folder that can't be watched.
        self._trouble = {} if trouble is None else {b"": trouble}
        self._shut: dict[Path, str] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="polling", daemon=True)
        self._thread.start()

    @property
    def unwatched(self) -> Mapping[Path, str]:
        """Folders that can't be listed, with the reason."""
        return {**self._trouble, **self._shut}

    def enter(self, folder: Path, descriptor: int) -> None:  # noqa: ARG002 (the protocol has it)
        """Nothing to prepare."""
        self._shut.pop(folder, None)

    def shut_out(self, folder: Path, reason: str) -> None:
        """It is looked at again with everything else."""
        self._shut[folder] = reason

    def govern(self, folder: Path, rules: FolderRules) -> None:
        """The look at what was reported applies the rules."""

    def leave(self, scope: Path, entered: Set[Path]) -> None:
        """Forget what was shut and is gone."""
        forget_shut(self._shut, scope, entered)

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


def forget_shut(shut: dict[Path, str], scope: Path, entered: Set[Path]) -> None:
    """Drop the folders of a scope that was looked at and where they were not met."""
    inside = [path for path in shut if not scope or path == scope or path.startswith(scope + b"/")]
    for path in inside:
        if path not in entered:
            del shut[path]
