"""Scenarios in a process of its own, with mounts and a limit of watches of its own: a user namespace has them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LIMIT = Path("/proc/sys/user/max_inotify_watches")
INSTANCES = Path("/proc/sys/user/max_inotify_instances")
_TESTS = Path(__file__).parent.parent


def run_limited(module: str, function: str, folder: Path) -> None:
    """Call `module.function(folder)` as root of a new user namespace; skips where there can be none."""
    if sys.platform != "linux" or not LIMIT.exists():
        pytest.skip("inotify limits per user namespace are Linux's")
    try:
        subprocess.run(["unshare", "-Urm", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no user namespace may be made here: {error}")
    call = f"import pathlib, {module}; {module}.{function}(pathlib.Path({str(folder)!r}))"
    paths = os.pathsep.join([str(_TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        ["unshare", "-Urm", sys.executable, "-W", "error", "-c", call],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def set_limit(watches: int) -> None:
    """From now on this process and its like may have so many watches."""
    LIMIT.write_text(str(watches))
