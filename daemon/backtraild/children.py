"""Processes of our own beside the daemon: how this very program is started again, however it was installed."""

import os
import sys

_KEPT_VARIABLES = ("HOME", "LD_LIBRARY_PATH", "PATH", "PYTHONHOME", "TMPDIR")


def command(package: str) -> list[str]:
    """What runs one of our packages."""
    return [sys.executable, "-P", "-m", package]


def environment() -> dict[str, str]:
    """Little more than where this very program lies."""
    found = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {**found, "LC_ALL": "C", "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
