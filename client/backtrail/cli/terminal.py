"""What a terminal can show and who sits there: width, colour, characters, the time, and a question answered."""

import os
import select
import signal
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from typing import TextIO

import msgspec

from backtrail.cli.characters import cut, cut_start, visible
from backtrail.cli.words import ago

DEFAULT_WIDTH = 80

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}
# All that the texts use beyond ASCII, and what stands in for it.
_PLAIN = str.maketrans({"−": "-", "–": "-", "…": "~", "→": ">", "●": "*", "○": "o", "★": "*", "·": "-"})


class Screen(msgspec.Struct, frozen=True, kw_only=True):
    """Where a text will be read. On a terminal lines are cut to its width; a pipe gets them whole."""

    width: int = DEFAULT_WIDTH
    colour: bool = False
    now: datetime
    zone: tzinfo | None = None  # None is the machine's, which knows about summer time
    unicode: bool = True
    terminal: bool = False
    home: str = ""

    @classmethod
    def of(cls, stream: TextIO, choice: str = "auto") -> "Screen":
        """What this stream leads to; `choice` of colours is auto, always or never."""
        terminal = stream.isatty()
        return cls(
            width=columns_of(stream),
            colour=wants_colour(choice, terminal, os.environ),
            now=datetime.now(UTC),
            unicode=_can_encode(stream),
            terminal=terminal or "COLUMNS" in os.environ,
            home=os.environ.get("HOME", ""),
        )

    def paint(self, text: str, *styles: str) -> str:
        """The text in a colour, or as it is where there are none."""
        if not (self.colour and styles and text) or text.isspace():
            return text
        return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"

    def sign(self, text: str) -> str:
        """Our own signs as this screen can show them: `−`, `…` or `●` may have to be plain ASCII."""
        return text if self.unicode else text.translate(_PLAIN)

    def cut(self, text: str, room: int) -> str:
        """The beginning of a text, if it is too long for the room that is left for it."""
        return cut(text, max(room, 1), self.sign("…")) if self.terminal else text

    def cut_path(self, path: str, room: int) -> str:
        """The end of a path, if it is too long."""
        return cut_start(path, max(room, 1), self.sign("…")) if self.terminal else path

    def ago(self, time: datetime) -> str:
        """When that was, seen from now."""
        return ago(time, self.now, self.zone)

    def folder(self, path: str) -> str:
        """An absolute path as its owner would write it."""
        if self.home not in ("", "/") and (path == self.home or path.startswith(self.home + "/")):
            path = "~" + path[len(self.home) :]
        return visible(path)


def wants_colour(choice: str, terminal: bool, environment: Mapping[str, str]) -> bool:
    """Whether to paint: a choice made on the command line counts most, then NO_COLOR, then FORCE_COLOR."""
    if choice != "auto":
        return choice == "always"
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return terminal and environment.get("TERM") != "dumb"


def columns_of(stream: TextIO) -> int:
    """How wide the stream's terminal is; COLUMNS overrules it."""
    chosen = os.environ.get("COLUMNS", "")
    if chosen.isdecimal() and int(chosen) > 0:
        return int(chosen)
    try:
        return os.get_terminal_size(stream.fileno()).columns or DEFAULT_WIDTH
    except (OSError, ValueError):  # no terminal, or no descriptor at all
        return DEFAULT_WIDTH


def ask(question: str) -> bool:
    """Ask the person at the terminal; whatever is not a clear yes is a no, and so is the end of the input."""
    sys.stdout.flush()  # what the question is about comes first
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    if sys.stdin.isatty():
        _await_line()
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        sys.stderr.write("\n")
    return answer.strip().lower() in ("y", "yes")


def _await_line() -> None:
    """Until a line was typed, or Ctrl-C: one that comes in the moment before a plain read begins would go unheard."""
    hearing, told = os.pipe()
    os.set_blocking(told, False)
    before = signal.set_wakeup_fd(told)
    try:
        select.select([sys.stdin, hearing], [], [])
    finally:
        signal.set_wakeup_fd(before)
        os.close(hearing)
        os.close(told)


def can_ask() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _can_encode(stream: TextIO) -> bool:
    try:
        "−–…→●○★·█▏■".encode(stream.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
