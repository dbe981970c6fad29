"""`save`: a checkpoint now."""

from argparse import ArgumentParser, ArgumentTypeError

from backtrail.cli import render, typed
from backtrail.cli.command import OF_WORKSPACE, Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import number
from backtrail.protocol import SAVE, Save


def _save(invocation: Invocation) -> int:
    options = invocation.options
    params = Save(
        workspace=typed.workspace(options.workspace),
        message=None if options.message is None else typed.text(options.message),
        session=None if options.session is None else typed.text(options.session),
        turn=options.turn,
        metadata=dict(options.meta),
        allow_empty=options.allow_empty,
        full=options.full,
    )
    made = invocation.ask_patiently(SAVE, params, "Saving")
    invocation.give(made, lambda screen: render.saved(made, screen))
    return 0


def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("-m", "--message", metavar="TEXT", help="what to call it")
    add("--session", metavar="ID", help="the conversation that it belongs to")
    add("--turn", metavar="N", type=number(0), help="the turn of that conversation")
    add("--meta", metavar="KEY=VALUE", action="append", default=[], type=_pair, help="keep this with it")
    add("--allow-empty", action="store_true", help="also if nothing has changed")
    add("--full", action="store_true", help="look at every file again, whatever was reported")


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = typed.text(text).partition("=")
    if not (key and equals):
        raise ArgumentTypeError(f"“{typed.text(text)}” is not KEY=VALUE")
    return key, value


COMMANDS = {
    "save": Command(
        _save,
        "Make a checkpoint now. It has every write that was finished before the command began. If nothing has\n"
        "changed since the last one, none is made (exit code 3), unless --allow-empty is given.",
        "backtrail save -m 'before the refactoring'",
        (*OF_WORKSPACE, 3),
        options=_options,
    )
}
