"""`daemon logs`: what the daemon says about its own work, also when it is not running."""

import os
import time
from argparse import ArgumentParser
from collections import deque
from collections.abc import Iterator
from datetime import datetime
from typing import BinaryIO

import msgspec

from backtrail.cli.characters import visible
from backtrail.cli.command import Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import number
from backtrail.cli.terminal import Screen
from backtrail.errors import BacktrailError
from backtrail.paths import places

_SHOWN = 50
_LOOK_SECONDS = 0.2
_COLOURS = {"warning": "yellow", "error": "red", "critical": "red", "debug": "dim"}


class NoLog(BacktrailError):
    """There is nothing to show."""

    code = "no-log"


class _Line(msgspec.Struct):
    time: datetime
    level: str
    message: str
    thread: str = ""
    traceback: str = ""


def _logs(invocation: Invocation) -> int:
    path = places().log_file
    try:
        with open(path, "rb") as file:
            for line in deque(file, maxlen=invocation.options.number):
                _show(invocation, line)
            if invocation.options.follow:
                _follow(invocation, str(path), file)
    except OSError as error:
        raise NoLog(
            f"The log {path} can't be read: {error.strerror}.", "It is made when the daemon is first started."
        ) from error
    return 0


def _follow(invocation: Invocation, path: str, file: BinaryIO) -> None:
    """Until Ctrl-C. A log that grew too large is moved away, and a new one is begun under its name."""
    while True:
        for line in _whole_lines(file):
            _show(invocation, line)
        if _is_replaced(path, file):
            with open(path, "rb") as newer:
                _follow(invocation, path, newer)
        time.sleep(_LOOK_SECONDS)


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    while line := file.readline():
        if not line.endswith(b"\n"):
            file.seek(-len(line), os.SEEK_CUR)
            return
        yield line


def _is_replaced(path: str, file: BinaryIO) -> bool:
    try:
        return not os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _show(invocation: Invocation, line: bytes) -> None:
    if invocation.json:
        invocation.write_bytes(line)
    else:
        invocation.write(_text(line, invocation.screen))


def _text(line: bytes, screen: Screen) -> str:
    try:
        entry = msgspec.json.decode(line, type=_Line)
    except msgspec.MsgspecError:  # cut off when the disk was full
        return visible(line.decode(errors="replace").rstrip("\n"))
    when = screen.paint(f"{entry.time.astimezone(screen.zone):%Y-%m-%d %H:%M:%S}", "dim")
    level = screen.paint(f"{visible(entry.level):<7}", _COLOURS.get(entry.level, "dim"))
    told = [f"{when}  {level}  {visible(entry.message)}"]
    return "\n".join([*told, *(f"    {visible(row)}" for row in entry.traceback.splitlines())])


def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "-n",
        "--number",
        metavar="N",
        type=number(1),
        default=_SHOWN,
        help=f"the last N lines (default: {_SHOWN})",
    )
    add("-f", "--follow", action="store_true", help="wait for more, until Ctrl-C")


COMMANDS = {
    "daemon logs": Command(
        _logs,
        "Show what the daemon says about its own work; with --json, line by line as it is in the file.",
        "backtrail daemon logs -n 100 --follow",
        (0, 1, 2),
        options=_options,
    )
}
