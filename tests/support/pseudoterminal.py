"""A terminal of a given size without anybody in front of it: what was drawn on it, and what is typed into it."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TextIO


class Pseudoterminal:
    """`stream` writes to it; `drawn` takes out what has been written since."""

    def __init__(self, columns: int, lines: int) -> None:
        self._outer, inner = pty.openpty()
        attributes = termios.tcgetattr(inner)
        attributes[1] &= ~termios.OPOST  # line ends arrive as they were written
        termios.tcsetattr(inner, termios.TCSANOW, attributes)
        self.stream: TextIO = open(inner, "w", encoding="utf-8")  # noqa: SIM115 - closed by `close`
        self.resize(columns, lines)

    def resize(self, columns: int, lines: int) -> None:
        fcntl.ioctl(self.stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def type(self, text: str) -> None:
        os.write(self._outer, text.encode())

    def drawn(self) -> str:
        os.set_blocking(self._outer, False)
        found = b""
        with suppress(BlockingIOError, OSError):
            while piece := os.read(self._outer, 65536):
                found += piece
        return found.decode()

    def drawn_until_closed(self) -> str:
        """Everything, until no process has the terminal open any more."""
        self.stream.close()
        found = b""
        with suppress(OSError):  # EIO is the end
            while piece := os.read(self._outer, 65536):
                found += piece
        return found.decode()

    def close(self) -> None:
        self.stream.close()
        os.close(self._outer)


@contextmanager
def pseudoterminal(columns: int = 80, lines: int = 24) -> Iterator[Pseudoterminal]:
    """One that is gone afterwards."""
    terminal = Pseudoterminal(columns, lines)
    try:
        yield terminal
    finally:
        terminal.close()


def run_python(
    code: str,
    *arguments: str,
    environment: dict[str, str],
    columns: int = 80,
    lines: int = 24,
    typed: str = "",
) -> tuple[int, str]:
    """Run a piece of Python on a terminal of its own: exit status and all that was drawn."""
    with pseudoterminal(columns, lines) as terminal:
        terminal.type(typed)
        process = start_python(code, arguments, environment, terminal)
        drawn = terminal.drawn_until_closed()
        return process.wait(30), drawn


def start_python(
    code: str, arguments: Sequence[str], environment: dict[str, str], terminal: Pseudoterminal
) -> "subprocess.Popen[bytes]":
    """The same, while it goes on; Ctrl-C typed into the terminal reaches it."""
    return subprocess.Popen(
        [sys.executable, "-c", f"{_OWN_TERMINAL}\n{code}", *arguments],
        stdin=terminal.stream,
        stdout=terminal.stream,
        stderr=terminal.stream,
        env={**os.environ, **environment},
        start_new_session=True,
    )


# Only a terminal that controls a session turns Ctrl-C into a signal.
_OWN_TERMINAL = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
