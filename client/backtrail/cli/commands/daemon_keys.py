"""`daemon keys`: let a client on another machine in."""

from argparse import ArgumentParser
from pathlib import Path

from backtrail import keys
from backtrail.cli import typed
from backtrail.cli.characters import visible
from backtrail.cli.command import Argument, Command
from backtrail.cli.invocation import Invocation
from backtrail.paths import places


def _keys(invocation: Invocation) -> int:
    options = invocation.options
    folder = Path(typed.current_folder(), options.output or "")
    made = keys.invite(places(), typed.text(options.client), output=folder, host=options.host)
    answer = {"file": typed.absolute(str(made.file)), "requests": made.requests, "events": made.events}
    invocation.give(answer, lambda _: _text(made))
    return 0


def _text(made: keys.Invitation) -> str:
    file = visible(typed.text(str(made.file)))
    return (
        f"{file} lets its bearer in, at {visible(made.requests)}.\n"
        "Carry it to the other machine over a way that nobody reads along, and there set\n"
        f"BACKTRAIL_CONNECTION={visible(typed.text(made.file.name))}."
    )


def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--output", metavar="DIR", help="where to put the connection file (default: the current folder)")
    add("--host", metavar="HOST", help="how the other machine reaches this one (default: what `listen` says)")


COMMANDS = {
    "daemon keys": Command(
        _keys,
        "Make the keys of a client on another machine and let it in. Writes NAME.json, which holds its secret key:\n"
        "BACKTRAIL_CONNECTION=NAME.json on the other machine makes `backtrail` ask this daemon. The configuration\n"
        "file must have a table [server] with `listen`.",
        "backtrail daemon keys laptop",
        (0, 1, 2),
        (Argument("client", "NAME", "what to call the client"),),
        _options,
    )
}
