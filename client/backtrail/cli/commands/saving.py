"""`save`: a checkpoint now."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Sequence

from backtrail.cli import render, typed
from backtrail.cli.characters import visible
from backtrail.cli.command import OF_WORKSPACE, Command
from backtrail.cli.given import conversation
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import number
from backtrail.errors import UsageError
from backtrail.protocol import SAVE, Save
from backtrail.values import Checkpoint, Followed

_OF_SESSION = ("conversation", "prompt", "agent", "title", "phase")


def _save(invocation: Invocation) -> int:
    options = invocation.options
    _check(options)
    params = Save(
        workspace=typed.workspace(options.workspace),
        message=_text(options.message),
        session=_text(options.session),
        turn=options.turn,
        metadata=dict(options.meta),
        allow_empty=options.allow_empty,
        full=options.full,
        conversation=None if options.conversation is None else conversation(options.conversation),
        prompt=_text(options.prompt),
        agent=_text(options.agent),
        title=_text(options.title),
        phase=_text(options.phase),
    )
    made = invocation.ask_patiently(SAVE, params, "Saving")
    invocation.give(made, lambda screen: render.saved(made, screen))
    if made.conversation_error is not None:
        _warn(invocation, made)
    warn_of_followed(invocation, made.also)
    return 0


def _check(options: Namespace) -> None:
    """What is said of a session needs one."""
    told = [name for name in _OF_SESSION if getattr(options, name) is not None]
    if told and options.session is None:
        raise UsageError(
            f"`backtrail save --{told[0]}` needs --session.", "Give the agent's own id of the conversation."
        )


def _warn(invocation: Invocation, made: Checkpoint) -> None:
    """The files are safe, so it is no failure."""
    hint = f"`backtrail session attach {visible(made.session or 'SESSION')} FILE` records it later."
    invocation.note(
        f"warning: The conversation was not recorded: {visible(made.conversation_error or '')} {hint}"
    )


def warn_of_followed(invocation: Invocation, also: Sequence[Followed]) -> None:
    """Folders that a session follows and in which something failed; JSON has it with the rest."""
    for one in () if invocation.json else also:
        if one.error is not None:
            invocation.note(
                f"warning: {visible(one.root or one.workspace)} did not follow: {visible(one.error)}"
            )


def _text(word: str | None) -> str | None:
    return None if word is None else typed.text(word)


def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("-m", "--message", metavar="TEXT", help="what to call it")
    add("--session", metavar="ID", help="the conversation that it belongs to")
    add("--turn", metavar="N", type=number(0), help="the turn of that conversation, which ends with it")
    add(
        "--conversation",
        metavar="FILE",
        help="what was said up to now: JSON lines or a JSON array; - is stdin",
    )
    add("--prompt", metavar="TEXT", help="what was asked in that turn, where the conversation does not tell")
    add("--agent", metavar="NAME", help="who speaks with the user")
    add("--title", metavar="TEXT", help="what the conversation is about")
    add("--phase", metavar="PHASE", help="what is being done now, as in planning or testing")
    add("--meta", metavar="KEY=VALUE", action="append", default=[], type=pair, help="keep this with it")
    add("--allow-empty", action="store_true", help="also if nothing has changed")
    add("--full", action="store_true", help="look at every file again, whatever was reported")


def pair(text: str) -> tuple[str, str]:
    """The type of an option that is KEY=VALUE."""
    key, equals, value = typed.text(text).partition("=")
    if not (key and equals):
        raise ArgumentTypeError(f"“{typed.text(text)}” is not KEY=VALUE")
    return key, value


COMMANDS = {
    "save": Command(
        _save,
        "Make a checkpoint now. It has every write that was finished before the command began. If nothing has\n"
        "changed since the last one, none is made (exit code 3), unless --allow-empty is given. With --session, it is\n"
        "the state after a turn of that conversation, and is always made; what was said is recorded with it, without\n"
        "secrets.",
        "backtrail save -m 'before the refactoring'\n"
        "backtrail save --session fix-login --turn 4 --conversation transcript.jsonl",
        (*OF_WORKSPACE, 3),
        options=_options,
    )
}
