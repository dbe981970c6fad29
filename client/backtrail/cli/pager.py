"""Long text through the pager that the person chose; short text, and text for a program, as it is."""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TextIO

from backtrail.cli.characters import width

_NOT_FOUND = (126, 127)  # what a shell exits with if there is no such program, or it can't be run


def show(text: str) -> None:
    """Write a text to stdout, through a pager if that is a terminal which it does not fit on."""
    stream = sys.stdout
    pager = chosen(os.environ) if stream.isatty() and not _fits(text, stream) else None
    if pager is None or not _paged(text, pager, stream):
        stream.write(text)
        stream.flush()


def chosen(environment: Mapping[str, str]) -> str | None:
    """The command of the pager; None if none is wanted or there is none."""
    for name in ("BACKTRAIL_PAGER", "PAGER"):
        if name in environment:
            command = environment[name].strip()
            return None if command in ("", "cat") else command
    if environment.get("TERM") == "dumb":
        return None
    folders = environment.get("PATH", os.defpath).split(os.pathsep)
    return "less" if any(os.access(os.path.join(folder, "less"), os.X_OK) for folder in folders) else None


def _fits(text: str, stream: TextIO) -> bool:
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return False
    # One line is left for the prompt that follows.
    return _rows(text, columns or 80) < (lines or 24)


def _rows(text: str, columns: int) -> int:
    """How many rows of a terminal the text fills; escape sequences count, which only makes it look longer."""
    return sum(max(1, -(-width(line) // columns)) for line in text.removesuffix("\n").split("\n"))


def _paged(text: str, pager: str, stream: TextIO) -> bool:
    """Whether the pager showed it. One that quits early has shown what was wanted of it."""
    import subprocess  # takes longer to import than a short list takes to show

    stream.flush()
    with interrupts_left_to_the_program():
        process = subprocess.Popen(
            ["sh", "-c", pager], stdin=subprocess.PIPE, env={"LESS": "FRX", **os.environ}
        )
        assert process.stdin is not None  # noqa: S101 - it is a pipe, which the type does not know
        with suppress(BrokenPipeError):
            process.stdin.write(text.encode(stream.encoding or "utf-8", "replace"))
        with suppress(BrokenPipeError):
            process.stdin.close()
        return process.wait() not in _NOT_FOUND


@contextmanager
def interrupts_left_to_the_program() -> Iterator[None]:
    """Ctrl-C reaches every process of the terminal; in a pager or an editor it does not mean the program behind it.

    A handler that does nothing, not SIG_IGN: that would be inherited.
    """
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
