"""The program `backtrail`: runs one command, and is the one place where everything that goes wrong ends up."""

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from backtrail import __version__
from backtrail.cli import commands
from backtrail.cli.command import ALWAYS_DONE
from backtrail.cli.invocation import Invocation, drop_output, is_debugged, open_streams, tell
from backtrail.cli.parser import Parsed, parse, split_command, wants_json
from backtrail.errors import BacktrailError, Bug

INTERRUPTED = 130
# What a shell reports for a program that the broken pipe's signal ended: so `backtrail list | head -1` counts
# under `set -o pipefail` as it does with other programs, and a result that was cut off is never a success.
READER_GONE = 141


class _Interrupted(BacktrailError):
    """Ctrl-C."""

    code, exit_status = "interrupted", INTERRUPTED


def main() -> NoReturn:
    """The program: run the command that was typed, and end.

    Everything is written and closed by then. What Python would still do is to take itself apart, piece by piece,
    for a quarter of the time that `backtrail list` takes.
    """
    os._exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command; the exit status."""
    words = list(arguments)
    open_streams()
    status = _outcome(words)
    return 0 if status and _never_fails(words) else status


def _outcome(words: list[str]) -> int:
    try:
        return _carry_out(words)
    except BacktrailError as error:
        return _failed(error, words)
    except KeyboardInterrupt:
        return _failed(_Interrupted("Interrupted.", "What the daemon has begun, it finishes."), words)
    except BrokenPipeError:
        drop_output()
        return READER_GONE
    except Exception as error:
        return _failed(_bug(error), words)


def _never_fails(words: list[str]) -> bool:
    """Is it a command that ends with 0 even if its words make no sense?"""
    name, _ = split_command(words)
    return name in commands.COMMANDS and commands.load(name).exits == ALWAYS_DONE


def _carry_out(words: list[str]) -> int:
    parsed = parse(words)
    invocation = Invocation(parsed.name, parsed.options)
    if parsed.command is None or parsed.options.help or parsed.options.version:
        return _tell_about_itself(invocation, parsed)
    try:
        return parsed.command.run(invocation)
    finally:
        invocation.close()


def _tell_about_itself(invocation: Invocation, parsed: Parsed) -> int:
    if parsed.options.version:
        invocation.give({"version": __version__}, lambda _: f"backtrail {__version__}")
        return 0
    from backtrail.cli import help as texts

    if parsed.command is not None:
        text = texts.command_help(parsed.name, parsed.command)
    else:
        text = texts.group_help(parsed.name) if parsed.name else texts.main_help()
    invocation.write(text)
    return 0


def _failed(error: BacktrailError, words: list[str]) -> int:
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        drop_output()
    tell(_as_json(error) if wants_json(words) else _as_text(error))
    return error.exit_status


def _as_json(error: BacktrailError) -> str:
    import msgspec

    told = {"code": error.code, "message": _plain(error.message), "hint": _plain(error.hint)}
    return msgspec.json.encode({"error": told}).decode() + "\n"


def _as_text(error: BacktrailError) -> str:
    from backtrail.cli import render
    from backtrail.cli.terminal import Screen

    return render.failure(_plain(error.message), _plain(error.hint), Screen.of(sys.stderr))


def _plain(text: str) -> str:
    """Words of the command line that are not UTF-8 must not keep an error from being told."""
    return text.encode("utf-8", "backslashreplace").decode()


def _bug(error: Exception) -> BacktrailError:
    if is_debugged():
        import traceback

        tell("".join(traceback.format_exception(error)))
    return Bug(
        f"This is a bug in Backtrail: {type(error).__name__}: {error}.",
        "BACKTRAIL_DEBUG=1 shows where; `backtrail daemon logs` shows what the daemon says. Please report both.",
    )
