"""A command on a terminal of its own, which a test types into and reads from."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from support.commands import COMMAND, Shell

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """A command whose three streams are a terminal."""

    def __init__(
        self,
        command: Sequence[str],
        folder: Path,
        environment: Mapping[str, str],
        *,
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(theirs)
        self.shown = ""

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._ours)

    def wait_for(self, text: str, seconds: float = 30.0) -> None:
        """Until this is on the screen."""
        deadline = time.monotonic() + seconds
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            assert self._read(deadline), self.shown

    def type(self, text: str) -> None:
        """What a person types; the terminal turns \\x03 into an interrupt."""
        os.write(self._ours, text.encode())

    def resize(self, columns: int, rows: int) -> None:
        """The window gets another size, which the command is told of."""
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self, seconds: float = 30.0) -> int:
        """All that is still shown, then the exit status."""
        deadline = time.monotonic() + seconds
        while self._read(deadline):
            pass
        return self._process.wait(seconds)

    def look(self, seconds: float) -> str:
        """What is on the screen, without its colours, after waiting a moment for more."""
        self._read(time.monotonic() + seconds)
        return self.plain()

    def plain(self) -> str:
        """What is on the screen, without its colours."""
        return _COLOUR.sub("", self.shown)

    def _read(self, deadline: float) -> bool:
        """Whether there was something; nothing comes any more once the command has ended."""
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        if not ready:
            return False
        with contextlib.suppress(OSError):  # the other side is closed
            piece = os.read(self._ours, 65536)
            self.shown += piece.decode(errors="replace").replace("\r\n", "\n")
            return bool(piece)
        return False


def terminal(shell: Shell, *words: str, columns: int = 80, **environment: str) -> Terminal:
    """A Backtrail command on a terminal."""
    return Terminal([*COMMAND, *words], shell.root, {**shell.environment, **environment}, columns=columns)
