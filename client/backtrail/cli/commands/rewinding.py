"""`rewind`: files and conversation back to a turn. A person sees the plan before anything is changed."""

import sys
from argparse import ArgumentParser

import msgspec

from backtrail.cli import typed
from backtrail.cli.characters import visible
from backtrail.cli.command import OF_CHECKPOINT, Command
from backtrail.cli.commands.saving import warn_of_followed
from backtrail.cli.confirming import confirm
from backtrail.cli.invocation import Invocation, tell
from backtrail.cli.parser import number
from backtrail.cli.render import rewinds as texts
from backtrail.cli.scope import add_scope_options
from backtrail.cli.terminal import Screen, can_ask
from backtrail.cli.words import count
from backtrail.errors import UsageError
from backtrail.session_protocol import REWIND, Rewind
from backtrail.session_values import RewindResult


def _rewind(invocation: Invocation) -> int:
    options = invocation.options
    params = _asked(invocation)
    target = _target(params)
    if not options.yes or options.dry_run:
        plan = invocation.ask_patiently(REWIND, params, "Looking")
        if options.dry_run or not plan.requires_confirmation:
            invocation.give(plan, lambda screen: texts.rewind_plan(plan, target, screen))
            return 0
        _confirm(invocation, plan, target)
        # What was agreed to is done, or nothing: the daemon compares.
        params = msgspec.structs.replace(params, plan=plan.plan)
    done = invocation.ask_patiently(REWIND, msgspec.structs.replace(params, confirm=True), "Going back")
    _tell(invocation, done, target)
    return 0


def _asked(invocation: Invocation) -> Rewind:
    options = invocation.options
    if options.session is None:
        raise UsageError("`backtrail rewind` needs --session.", "`backtrail session list` shows them.")
    if options.to_turn is None and options.before_turn is None:
        raise UsageError(
            "`backtrail rewind` needs --to-turn or --before-turn.",
            f"`backtrail session show {typed.text(options.session)}` shows the turns.",
        )
    return Rewind(
        workspace=typed.workspace(options.workspace),
        session=typed.text(options.session),
        to_turn=options.to_turn,
        before_turn=options.before_turn,
        scope=options.scope or "both",
        only_session=options.only_session,
        # A person does not read contents in base64.
        contents=options.contents and invocation.json,
    )


def _target(params: Rewind) -> str:
    if params.to_turn is not None:
        return f"the state after turn {params.to_turn} of {params.session}"
    return f"the state before turn {params.before_turn} of {params.session}"


def _confirm(invocation: Invocation, plan: RewindResult, target: str) -> None:
    """A program gets the plan as the result, and has to say yes; a person sees it with the question."""
    if invocation.json:
        invocation.give(plan, lambda _: "")
    elif can_ask():
        tell(texts.rewind_plan(plan, target, Screen.of(sys.stderr, invocation.options.colour)))
    written = count(len(plan.written) + sum(len(one.written) for one in plan.also), "file")
    deleted = count(len(plan.deleted) + sum(len(one.deleted) for one in plan.also), "file")
    hidden = f"{count(len(plan.turns_rewound), 'turn')} with {count(plan.messages_removed, 'message')}"
    confirm(
        invocation,
        f"Go back to {visible(target)}?",
        f"Going back to {target} would write {written}, delete {deleted} and hide {hidden}; "
        "it requires confirmation.",
    )


def _tell(invocation: Invocation, result: RewindResult, target: str) -> None:
    """What was left alone is a warning, and goes to stderr; JSON has it with the rest."""
    done = msgspec.structs.replace(result, conflicts=[], session_conflicts=[])
    invocation.give(result, lambda screen: texts.rewind_done(done, target, screen))
    for conflict in () if invocation.json else (*result.conflicts, *result.session_conflicts):
        invocation.note(f"warning: {visible(conflict.path)} was left alone: {visible(conflict.reason)}")
    warn_of_followed(invocation, result.also)


def _options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--session", metavar="ID", help="the conversation")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--to-turn", metavar="N", type=number(0), help="to the state right after this turn")
    explained = "to the state right before this turn, to try it again"
    where.add_argument("--before-turn", metavar="N", type=number(0), help=explained)
    add_scope_options(parser, "both")
    add("--only-session", action="store_true", help="only files that the session itself changed")
    add("--dry-run", action="store_true", help="only say what would be done")
    add("-y", "--yes", action="store_true", help="do not ask")
    add("--contents", action="store_true", help="with --json: also the content of every file that changes")


COMMANDS = {
    "rewind": Command(
        _rewind,
        "Take files and conversation back to right after a turn of a session, or to right before one. Shows its plan\n"
        "and asks first, unless --yes is given; with --json and without --yes, the plan is printed and the exit code\n"
        "is 13. Later turns are hidden, not destroyed: `backtrail undo` brings them and the files back. Folders that\n"
        "the session follows go back as well; `undo` is for one folder at a time.",
        "backtrail rewind --session fix-login --before-turn 4\n"
        "backtrail rewind --session fix-login --to-turn 7 --conversation --yes",
        (*OF_CHECKPOINT, 13),
        options=_options,
    )
}
