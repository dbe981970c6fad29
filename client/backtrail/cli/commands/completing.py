"""The hidden command that shells ask for candidates. It starts no daemon, and never says what went wrong."""

from argparse import Action
from collections.abc import Iterable, Iterator
from itertools import pairwise

from backtrail.cli import commands, typed
from backtrail.cli.characters import visible
from backtrail.cli.command import CHECKPOINT, WORKSPACE, Argument, Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import options_parser, split_command
from backtrail.client import Client
from backtrail.protocol import LIST_SUMMARIES, List

# Somebody waits with a finger on the key.
_SECONDS = 1.0
_CHECKPOINTS = 200

Candidate = tuple[str, str]


def _complete(invocation: Invocation) -> int:
    words = invocation.options.words or [""]
    try:
        found = [candidate for candidate in _candidates(words[:-1]) if candidate[0].startswith(words[-1])]
    except Exception:
        return 0  # a shell in the middle of a line is no place for a message
    shown = [one for one in found if not one[0].startswith("-") or words[-1].startswith("-")]
    invocation.write("".join(f"{value}\t{visible(told)}\n" for value, told in shown))
    return 0


def _candidates(before: list[str]) -> Iterable[Candidate]:
    """What may follow these words."""
    if "--" in before:
        return ()
    name, rest = split_command(before)
    if name in commands.COMMANDS:
        return _of_command(name, rest, before)
    return _commands(name)


def _commands(group: str) -> Iterator[Candidate]:
    """The first words of all commands, or the second ones of a group."""
    told = set()
    for name, entry in commands.COMMANDS.items():
        first, _, second = name.partition(" ")
        if group and first == group:
            yield second, entry.summary
        elif not group and first not in told:
            told.add(first)
            yield first, f"{first} …" if second else entry.summary


def _of_command(name: str, rest: list[str], before: list[str]) -> Iterable[Candidate]:
    command = commands.load(name)
    options = {
        text: action for action in options_parser(name, command)._actions for text in action.option_strings
    }
    last = options.get(before[-1])
    if last is not None and last.nargs is None:  # it takes a value, which comes now
        return _values(last)
    return [*_positional(command, _place(rest, options), before), *_options(options)]


def _options(options: dict[str, Action]) -> Iterator[Candidate]:
    for text, action in options.items():
        if text.startswith("--"):
            yield text, action.help or ""


def _values(option: Action) -> Iterable[Candidate]:
    if option.choices is not None:
        return [(str(choice), "") for choice in option.choices]
    return _workspaces() if option.dest == "workspace" else ()


def _place(words: list[str], options: dict[str, Action]) -> int:
    """How many words given by place come before the one that is completed."""
    count, is_value = 0, False
    for word in words:
        if is_value:
            is_value = False
        elif word in options:
            is_value = options[word].nargs is None
        elif not word.startswith("-"):
            count += 1
    return count


def _positional(command: Command, place: int, before: list[str]) -> Iterable[Candidate]:
    argument = _argument_at(command.arguments, place)
    if argument is None:
        return ()
    if argument.choices:
        return [(choice, "") for choice in argument.choices]
    if argument.names == CHECKPOINT:
        return _checkpoints(before)
    return _workspaces() if argument.names == WORKSPACE else ()


def _argument_at(arguments: tuple[Argument, ...], place: int) -> Argument | None:
    if place < len(arguments):
        return arguments[place]
    return arguments[-1] if arguments and arguments[-1].times in "*+" else None


def _checkpoints(before: list[str]) -> Iterator[Candidate]:
    named = [value for word, value in pairwise(before) if word in ("-w", "--workspace")]
    params = List(workspace=typed.workspace(named[-1] if named else None), limit=_CHECKPOINTS)
    with Client(autostart=False, timeout=_SECONDS) as client:
        page = client.call(LIST_SUMMARIES, params)
    for found in page.checkpoints:
        yield str(found.number), found.message.strip().partition("\n")[0]


def _workspaces() -> Iterator[Candidate]:
    with Client(autostart=False, timeout=_SECONDS) as client:
        for found in client.workspaces():
            yield found.root, found.state


COMMANDS = {"__complete": Command(_complete, "", "", ())}
