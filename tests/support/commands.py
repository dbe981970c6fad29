"""The command `backtrail` as people run it: a process, with a home, a folder and a daemon of its own."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest

from backtrail.client import Client
from support.watching import eventually

COMMAND = (sys.executable, "-m", "backtrail")


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it said."""

    status: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        """What it printed as its result."""
        return self.out.decode()

    @property
    def json(self) -> Any:
        """Its result, which has to be one JSON document and nothing else."""
        return json.loads(self.out)

    @property
    def error(self) -> dict[str, str]:
        """Its error in --json mode, which has to be one JSON object with nothing around it."""
        found = json.loads(self.err)
        assert list(found) == ["error"]
        assert sorted(found["error"]) == ["code", "hint", "message"]
        return found["error"]


class Shell:
    """A person at a prompt, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "backtrail"
        self.root = folder / "work"
        self.root.mkdir(parents=True)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("BACKTRAIL_")},
            "HOME": str(folder),
            "BACKTRAIL_HOME": str(self.home),
            "PAGER": "cat",
            # Compiled once for all commands of a test run, as an installation has it.
            "PYTHONPYCACHEPREFIX": str(folder.parent / "pycache"),
            "TERM": "xterm",
        }
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONDONTWRITEBYTECODE"):
            self.environment.pop(name, None)

    def __call__(
        self, *words: str | bytes, cwd: Path | None = None, status: int | None = 0, **environment: str
    ) -> Ran:
        """Run a command; it has to end with this status, or with any if that is None."""
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=cwd or self.root,
            env={**self.environment, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
        )
        ran = Ran(done.returncode, done.stdout, done.stderr.decode())
        assert status is None or ran.status == status, ran
        return ran

    def start(self, *words: str, **options: Any) -> "subprocess.Popen[bytes]":
        """A command that goes on by itself."""
        options = {
            "stdin": subprocess.DEVNULL,
            "stdout": subprocess.PIPE,
            "stderr": subprocess.PIPE,
            **options,
        }
        return subprocess.Popen([*COMMAND, *words], cwd=self.root, env=self.environment, **options)

    def write(self, path: str, content: str | bytes = "content\n") -> Path:
        """A file in the folder."""
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def save(self, message: str = "saved") -> Any:
        """A checkpoint, whatever has changed, as its JSON has it. Made without a command, which would take longer."""
        with Client(home=self.home, autostart=False) as client:
            return json.loads(msgspec.json.encode(client.workspace(self.root).save(message)))

    def enter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the test's own process stand where this shell does, to run commands without one of their own."""
        monkeypatch.chdir(self.root)
        for name in ("HOME", "BACKTRAIL_HOME", "TERM"):
            monkeypatch.setenv(name, self.environment[name])

    def daemon(self) -> int | None:
        """The process of the daemon, if one has said where it listens."""
        try:
            return int(json.loads((self.home / "run" / "daemon.json").read_bytes())["pid"])
        except FileNotFoundError:
            return None

    def _holder(self) -> int | None:
        """The process of a daemon that does not listen yet, or not any more."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            process = int((self.home / "data" / "daemon.lock").read_text())
            return process if is_alive(process) else None
        return None

    def end(self) -> None:
        """End the daemon, by force if it must be."""
        process = self.daemon() or self._holder()
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)
        try:
            eventually(lambda: not is_alive(process), 20)
        except AssertionError:
            os.kill(process, signal.SIGKILL)
            raise


@contextlib.contextmanager
def shell_in(folder: Path, **settings: Any) -> Iterator[Shell]:
    """A shell; the daemon that it may have started is gone afterwards. Checkpoints are made on request only."""
    shell = Shell(folder)
    config = shell.home / "config" / "config.toml"
    config.parent.mkdir(parents=True)
    settings = {"auto_checkpoint": False, **settings}
    config.write_text("".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items()))
    try:
        yield shell
    finally:
        shell.end()


def is_alive(process: int) -> bool:
    """A process that has ended but was not waited for by its parent is not alive."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
