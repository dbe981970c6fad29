"""Looking at everything now and then: for network and FUSE file systems, which report nobody's changes."""

import threading
from collections.abc import Mapping

from backtraild.model import Path
from backtraild.watch.dirt import Dirt
from backtraild.watch.hinting import HintingWatcher

INTERVAL = 10.0


class PollingWatcher(HintingWatcher):
    """Marks everything at an interval. It can't know what happened, so a barrier is never reached."""

    kind = "poll"

    def __init__(self, dirt: Dirt, interval: float | None = None, trouble: str | None = None) -> None:
        super().__init__()
        self._dirt = dirt
        self._interval = INTERVAL if interval is None else interval
        # Where polling is only second best, the root counts as a folder that can't be watched.
        self._trouble = {} if trouble is None else {b"": trouble}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="polling", daemon=True)
        self._thread.start()

    @property
    def unwatched(self) -> Mapping[Path, str]:
        """Folders that can't be listed, with the reason."""
        return {**self._trouble, **self._shut}

    def close(self) -> None:
        """Stop looking."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.wait(self._interval):
            self._dirt.mark_everything("this file system is looked at from time to time")
