"""Every test has a home of its own, and git sees no configuration but that home's."""

import compileall
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from support.git import git as run_git

_PROJECT = Path(__file__).parent.parent

# No deadline: the machine may be busy. The blob printed with a failure repeats it.
settings.register_profile("backtrail", deadline=None, print_blob=True)
settings.load_profile("backtrail")

# A test run in the background of a script begins with Ctrl-C ignored, and so would every command it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Bytecode as an installation has it: without, every daemon and command of a test compiles half a second long."""
    if not hasattr(config, "workerinput"):  # once, before there are others
        for package in ("client", "daemon"):
            compileall.compile_dir(_PROJECT / package, quiet=1)


@pytest.fixture(autouse=True)
def _isolated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the person who runs the tests may reach them, nor the other way round."""
    for name in [name for name in os.environ if name.startswith(("GIT_", "XDG_", "BACKTRAIL_"))]:
        if name != "BACKTRAIL_EXAMPLES":
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


@pytest.fixture(scope="session")
def git() -> Callable[..., bytes]:
    """`git(*arguments, cwd=…, git_dir=…, input=…)`: its output, or an exception with what it said."""
    return run_git
