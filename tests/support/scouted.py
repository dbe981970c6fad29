"""The daemon that sends scouts into the smallest workspace, a few folders at a time.

Run as a module it is that daemon.
"""

import sys
from pathlib import Path

from backtraild.__main__ import main
from backtraild.scouts import errand
from support.process import Process

RELIED = "Scouts found"  # what it writes into its log about a report that it relies on

_TESTS = Path(__file__).parents[1]


def starting(home: Path) -> Process:
    """Such a daemon, from its first moment on."""
    return Process(home, environment={"PYTHONPATH": str(_TESTS)}, module="support.scouted")


def scouted(home: Path) -> Process:
    """Such a daemon, which is ready."""
    return starting(home).wait_until_ready()


def be_curious() -> None:
    """Make everything worth it."""
    errand.LEAST_BUNDLES, errand.BUNDLES_IN_A_STRETCH = 1, 2


if __name__ == "__main__":
    be_curious()
    sys.exit(main())
