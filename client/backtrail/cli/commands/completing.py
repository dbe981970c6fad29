"""The hidden command that shells ask for candidates. It starts no daemon, and never says what went wrong."""

from argparse import Action
from collections.abc import Iterable, Iterator
from itertools import pairwise

from backtrail.cli import commands, typed
from backtrail.cli.characters import visible
from backtrail.cli.command import CHECKPOINT, SESSION, SESSION_OR_CHECKPOINT, WORKSPACE, Argument, Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import options_parser, split_command
from backtrail.client import Client
from backtrail.protocol import LIST_SUMMARIES, List

# Somebody waits with a finger on the key.
_SECONDS = 1.0
_MOST = 200

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
        return _values(last, before)
    return [*_positional(command, _place(rest, options), before), *_options(options)]


def _options(options: dict[str, Action]) -> Iterator[Candidate]:
    for text, action in options.items():
        if text.startswith("--"):
            yield text, action.help or ""


def _values(option: Action, before: list[str]) -> Iterable[Candidate]:
    if option.choices is not None:
        return [(str(choice), "") for choice in option.choices]
    return _named(option.dest, before)


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
    return _named(argument.names, before)


def _named(what: str, before: list[str]) -> Iterable[Candidate]:
    """All things of a kind that a word may name."""
    if what == WORKSPACE:
        return _workspaces()
    found: list[Candidate] = []
    if what in (SESSION, SESSION_OR_CHECKPOINT):
        found += _sessions(before)
    if what in (CHECKPOINT, SESSION_OR_CHECKPOINT):
        found += _checkpoints(before)
    return found


def _argument_at(arguments: tuple[Argument, ...], place: int) -> Argument | None:
    if place < len(arguments):
        return arguments[place]
    return arguments[-1] if arguments and arguments[-1].times in "*+" else None


def _checkpoints(before: list[str]) -> Iterator[Candidate]:
    params = List(workspace=_workspace(before), limit=_MOST)
    with Client(autostart=False, timeout=_SECONDS) as client:
        page = client.call(LIST_SUMMARIES, params)
    for found in page.checkpoints:
        yield str(found.number), found.message.strip().partition("\n")[0]


def _sessions(before: list[str]) -> Iterator[Candidate]:
    from backtrail.session_protocol import SESSION_LIST, SessionList  # few words name a session

    params = SessionList(workspace=_workspace(before), limit=_MOST)
    with Client(autostart=False, timeout=_SECONDS) as client:
        page = client.call(SESSION_LIST, params)
    for found in page.sessions:
        yield found.session, found.title or found.agent


def _workspace(before: list[str]) -> str:
    named = [value for word, value in pairwise(before) if word in ("-w", "--workspace")]
    return typed.workspace(named[-1] if named else None)


def _workspaces() -> Iterator[Candidate]:
    with Client(autostart=False, timeout=_SECONDS) as client:
        for found in client.workspaces():
            yield found.root, found.state


COMMANDS = {"__complete": Command(_complete, "", "", ())}
