"""What `--help` prints: the main help, grouped by purpose, and the help of one command."""

import os
import sys
from argparse import RawDescriptionHelpFormatter

from backtrail.cli import commands
from backtrail.cli.command import ALWAYS_DONE, EXITS, Argument, Command

_WIDEST = 100
_MAIN = """\
Backtrail is undo for a whole folder: a daemon keeps every settled state of the folders it watches, and these
commands look at those states and bring them back.

usage: backtrail [OPTION…] COMMAND …
"""
_MAIN_END = """
Options of every command, before or after it:
  -w, --workspace PATH    the workspace, or any path in it (default: the current folder)
  --json                  print one JSON document instead of text
  --color WHEN            colour the text: auto, always or never
  --no-autostart          do not start the daemon if none is running
  --quiet                 no progress, notes or warnings; errors are still told
  --version, -h, --help

A checkpoint is named by its number (42), by 4 or more characters of its id, by @ (the newest), @~3 (three
before it), @{10 minutes ago} or @{2026-11-15 14:03}; 42:src/app.py is a file in it.

Begin with:  cd PROJECT && backtrail watch
Every command has a help of its own:  backtrail COMMAND --help
"""


class Formatter(RawDescriptionHelpFormatter):
    """argparse's layout, as wide as the terminal."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=_width())


def main_help() -> str:
    """All commands, by what they are for."""
    lines = [_MAIN]
    purpose = ""
    for name, entry in commands.COMMANDS.items():
        if entry.purpose != purpose:
            purpose = entry.purpose
            lines.append(f"\n{purpose}:\n")
        lines.append(f"  {name:<20}  {entry.summary}\n")
    return "".join([*lines, _MAIN_END])


def group_help(group: str) -> str:
    """The commands that begin with the same word."""
    lines = [f"usage: backtrail {group} COMMAND …\n\n"]
    for name, entry in commands.COMMANDS.items():
        if name.startswith(f"{group} "):
            lines.append(f"  {name:<20}  {entry.summary}\n")
    lines.append(f"\nEach has a help of its own:  backtrail {group} COMMAND --help\n")
    return "".join(lines)


def command_help(name: str, command: Command) -> str:
    """One command: what it does, its arguments and options, an example, its exit codes."""
    from backtrail.cli.parser import options_parser

    parser = options_parser(name, command)
    parser.usage = " ".join(
        ["backtrail", name, *map(_in_usage, command.arguments), "[OPTION…]", *_paths(command)]
    )
    parser.description = command.description
    own = parser.add_argument_group("arguments") if command.arguments else None
    for argument in command.arguments:
        assert own is not None  # noqa: S101 - made where there are any
        own.add_argument(argument.name, metavar=argument.metavar, help=argument.explained)
    codes = command.exits if command.exits == ALWAYS_DONE else sorted((*command.exits, 70, 130))
    exits = "\n".join(f"  {code:<4} {EXITS[code]}" for code in codes)
    parser.epilog = f"example:\n{_indented(command.example)}\n\nexit codes:\n{exits}"
    return parser.format_help()


def _in_usage(argument: Argument) -> str:
    shown = argument.metavar + ("…" if argument.times in "*+" else "")
    return f"[{shown}]" if argument.times in "?*" else shown


def _paths(command: Command) -> list[str]:
    return ["[-- PATH…]"] if command.paths_after_dashes else []


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())


def _width() -> int:
    try:
        return min(_WIDEST, os.get_terminal_size(sys.stdout.fileno()).columns)
    except (OSError, ValueError, AttributeError):  # no terminal, or no stdout at all
        return _WIDEST
