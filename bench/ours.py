"""Our side: a daemon as a process of its own, and the client that asks it."""

import compileall
import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from backtrail import Client, Workspace
from backtrail.errors import DaemonUnreachable
from backtrail.paths import places
from bench.machine import has_loaded

START_SECONDS = 120.0
_LOOK_SECONDS = 0.002
_LOADED_LAST = "libgit2"
# Retention would thin out what is counted here.
_CONFIGURATION = "max_checkpoints = 1_000_000\n"


def compile_as_installed() -> None:
    """Bytecode for what is measured, as an installation has it: a checkout may have none, or none that is new."""
    for package in ("backtrail", "backtraild"):
        found = importlib.util.find_spec(package)
        assert found is not None
        for folder in found.submodule_search_locations or ():
            compileall.compile_dir(folder, quiet=1)


class Ours:
    """One daemon with everything of it in a folder of its own. It is started at once and can be started again."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self._places = places(home)
        self._places.config.mkdir(parents=True)
        self._places.config_file.write_text(_CONFIGURATION)
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def __enter__(self) -> "Ours":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Until requests are answered, by a client that has no connection to an earlier daemon."""
        self.client = Client(home=self.home, autostart=False, timeout=None)
        with open(self.home / "daemon.txt", "ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "backtraild"],
                env={**os.environ, "BACKTRAIL_HOME": str(self.home)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        try:
            self._await_answer(time.monotonic() + START_SECONDS)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End it; what is pending is saved first."""
        if self._process is None:
            return
        self.client.close()
        self._process.terminate()
        self._process.wait()
        self._process = None

    def watch(self, root: Path) -> Workspace:
        """Watch a folder of any size, and wait for its first checkpoint."""
        return self.client.watch(root, force=True)

    def come_to_rest(self) -> None:
        """Until it has loaded what a start leaves for later."""
        while not has_loaded(self.pid, _LOADED_LAST):
            time.sleep(_LOOK_SECONDS)

    @property
    def pid(self) -> int:
        """The process."""
        assert self._process is not None
        return self._process.pid

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[None]:
        """In this block it does not run, so that nobody who is measured pays for what it would do."""
        if self._process is None:
            yield
            return
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def _await_answer(self, give_up_at: float) -> None:
        while not self._answers():
            assert self._process is not None
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                words = (self.home / "daemon.txt").read_text(errors="replace").strip()
                raise RuntimeError(f"The daemon did not start: {words}")
            time.sleep(_LOOK_SECONDS)

    def _answers(self) -> bool:
        if not self._places.connection_file.exists():  # asking costs more than looking
            return False
        with contextlib.suppress(DaemonUnreachable):
            return self.client.ping().pid == self.pid
        return False
