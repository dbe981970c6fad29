"""Draws docs/backtrail.svg: the command line in use, typed into a real terminal and drawn as it looked."""

import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fcntl import ioctl
from html import escape
from pathlib import Path
from termios import TIOCSWINSZ

COLUMNS, ROWS = 88, 60
LINE_HEIGHT, FONT_SIZE, MARGIN = 19, 14, 18
# The width of a letter in the usual monospaced fonts, as a part of their size.
LETTER = 0.602

BACKGROUND, FOREGROUND = "#15191f", "#d7dde5"
PALETTE = {
    30: "#4b5563", 31: "#f87171", 32: "#7ee787", 33: "#e3b341", 34: "#79b8ff", 35: "#d2a8ff", 36: "#76e3ea",
    37: "#d7dde5", 90: "#7f8a99", 91: "#ffa198", 92: "#a5f3b0", 93: "#f2cc60", 94: "#a5d6ff", 95: "#e2c5ff",
    96: "#b3f0ff", 97: "#ffffff",
}  # fmt: skip

# What is typed; a line that begins with # is what somebody else does meanwhile.
STORY = (
    "backtrail watch .",
    "# an agent rewrites two files and deletes a third",
    "backtrail list",
    "backtrail diff 1 --stat",
    "backtrail restore 1 --yes",
    "backtrail undo",
)

_SEQUENCE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


@dataclass(frozen=True)
class Run:
    """Letters of one look."""

    text: str
    colour: str = FOREGROUND
    bold: bool = False
    dim: bool = False


def runs(line: str) -> Iterator[Run]:
    """A line of terminal output, taken apart at its colour changes."""
    look, at = Run(""), 0
    for found in _SEQUENCE.finditer(line):
        yield Run(line[at : found.start()], look.colour, look.bold, look.dim)
        if found[2] == "m":
            look = restyled(look, [int(code or 0) for code in found[1].split(";")])
        at = found.end()
    yield Run(line[at:], look.colour, look.bold, look.dim)


def restyled(look: Run, codes: Sequence[int]) -> Run:
    """The look after some SGR codes."""
    colour, bold, dim = look.colour, look.bold, look.dim
    for code in codes:
        if code == 0:
            colour, bold, dim = FOREGROUND, False, False
        elif code in (1, 2):
            bold, dim = bold or code == 1, dim or code == 2
        elif code == 22:
            bold = dim = False
        elif code == 39:
            colour = FOREGROUND
        else:
            colour = PALETTE.get(code, colour)
    return Run("", colour, bold, dim)


def drawn(lines: Sequence[str]) -> str:
    """The lines as an SVG picture."""
    width = round(COLUMNS * FONT_SIZE * LETTER) + 2 * MARGIN
    height = len(lines) * LINE_HEIGHT + 2 * MARGIN
    body = "\n".join(
        f'<text x="{MARGIN}" y="{MARGIN + (index + 1) * LINE_HEIGHT - 5}" xml:space="preserve">{spans(line)}</text>'
        for index, line in enumerate(lines)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="Backtrail in a terminal">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>\n'
        f'<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" '
        f'font-size="{FONT_SIZE}" fill="{FOREGROUND}">\n{body}\n</g>\n</svg>\n'
    )


def spans(line: str) -> str:
    """One line's letters with their looks."""
    return "".join(span(run) for run in runs(line) if run.text)


def span(run: Run) -> str:
    """Some letters with their look."""
    weight = ' font-weight="bold"' if run.bold else ""
    opacity = ' opacity="0.65"' if run.dim else ""
    return f'<tspan fill="{run.colour}"{weight}{opacity}>{escape(run.text)}</tspan>'


def typed(command: str, folder: Path) -> list[str]:
    """The lines that a command leaves on a terminal."""
    master, slave = pty.openpty()
    ioctl(slave, TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    process = subprocess.Popen(
        shlex.split(command), cwd=folder, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
    )
    os.close(slave)
    output = b""
    try:
        while piece := os.read(master, 65536):
            output += piece
    except OSError:  # how a terminal tells that nobody is left at its other end
        pass
    os.close(master)
    if process.wait():
        raise SystemExit(f"{command}: exit status {process.returncode}\n{output.decode()}")
    # A progress bar erases itself: of a line that was drawn over, only the last state is left.
    lines = output.decode().replace("\r\n", "\n").split("\n")
    return [re.sub(r"^.*(\r|\x1b\[2K)", "", line) for line in lines][:-1]


def edit(folder: Path) -> None:
    """What the agent of the story does."""
    (folder / "src" / "app.py").write_text("import flask\n\napp = flask.Flask(__name__)\n")
    (folder / "README.md").write_text("# Shop\n\nNow with a web server.\n")
    (folder / "src" / "prices.py").unlink()


def told(folder: Path) -> Iterator[str]:
    """The story, line by line."""
    for command in STORY:
        if command.startswith("#"):
            edit(folder)
            while not any(line.startswith("2 ") for line in typed("backtrail list --color never", folder)):
                pass  # the checkpoint comes by itself, when the files have been quiet for half a second
            yield f"\x1b[90m{command}\x1b[0m"
        else:
            yield f"\x1b[90m$\x1b[0m \x1b[1m{command}\x1b[0m"
            yield from typed(command, folder)
        yield ""


def main() -> None:
    """Draw the picture."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "shop"
        (folder / "src").mkdir(parents=True)
        (folder / "README.md").write_text("# Shop\n")
        (folder / "src" / "app.py").write_text("from prices import total\n\nprint(total([3, 4]))\n")
        (folder / "src" / "prices.py").write_text("def total(prices):\n    return sum(prices)\n")
        os.environ |= {"BACKTRAIL_HOME": f"{top}/home", "TERM": "xterm-256color", "HOME": top}
        os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        try:
            lines = list(told(folder))[:-1]
        finally:
            subprocess.run(["backtrail", "daemon", "stop"], check=False, capture_output=True)
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("backtrail.svg")
    target.write_text(drawn(lines))


if __name__ == "__main__":
    main()
