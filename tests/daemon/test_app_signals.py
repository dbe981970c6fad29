"""The daemon ends on a signal whatever its threads are doing."""

import os
import signal
from pathlib import Path

from support.process import Process


def test_a_signal_sent_while_it_was_stopped_ends_it_when_it_goes_on(tmp_path: Path):
    """The kernel may hand the signal to any thread then, and a handler would run only when the main one wakes."""
    (tmp_path / "work").mkdir()
    for _ in range(5):
        with Process(tmp_path / "home", "--watch", str(tmp_path / "work")).wait_until_ready() as daemon:
            os.kill(daemon.pid, signal.SIGSTOP)
            os.kill(daemon.pid, signal.SIGTERM)
            os.kill(daemon.pid, signal.SIGCONT)
            assert daemon.status() == 0
