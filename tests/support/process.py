"""`python -m backtraild`, or a module that stands for it, as a process: started, listened to, ended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from support.watching import eventually


class Process:
    """One daemon. What it says goes into a file, so that it never waits for a reader."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        environment: dict[str, str] | None = None,
        module: str = "backtraild",
    ) -> None:
        self._output = home.with_name(f"{home.name}.output")
        with open(self._output, "ab") as output:
            self._start = output.tell()
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                env={**os.environ, "BACKTRAIL_HOME": str(home), **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        """End it with kill -9, if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def said(self) -> str:
        """What it, and others that share its home, have said since it was started."""
        with open(self._output, "rb") as output:
            output.seek(self._start)
            return output.read().decode()

    def wait_for(self, text: str, seconds: float = 60.0) -> None:
        """Until it says something."""
        eventually(lambda: text in self.said() or self._process.poll() is not None, seconds)
        assert text in self.said(), self.said()

    def wait_until_ready(self) -> "Process":
        """Until it watches."""
        self.wait_for(f"process {self.pid}\n")
        return self

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it with a signal; the exit status."""
        self._process.send_signal(number)
        return self._process.wait(60)

    def status(self) -> int:
        """The exit status, once it has ended by itself."""
        return self._process.wait(60)

    def is_running(self) -> bool:
        return self._process.poll() is None
