"""`resume`, `fork`, `branch`: going on from an earlier point, here, in a new folder, or in one's own repository."""

import re
from argparse import ArgumentParser

from msgspec.structs import replace

from backtrail.cli import typed
from backtrail.cli.command import (
    CHECKPOINT,
    FILE,
    OF_CHECKPOINT,
    SESSION,
    SESSION_OR_CHECKPOINT,
    Argument,
    Command,
)
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import number
from backtrail.cli.render import rewinds as texts
from backtrail.errors import UnknownCheckpoint, UnknownSession
from backtrail.session_protocol import BRANCH, FORK, RESUME, Branch, Fork, Resume
from backtrail.session_values import Forked

# A number, something before or at a time, or the beginning of an id.
_CHECKPOINT_NAME = re.compile(r"[0-9]+|@.*|[0-9a-f]{4,40}", re.DOTALL | re.IGNORECASE)


def _resume(invocation: Invocation) -> int:
    options = invocation.options
    params = Resume(
        workspace=typed.workspace(options.workspace),
        session=typed.text(options.session),
        checkpoint=options.checkpoint and typed.name(options.checkpoint),
    )
    found = invocation.ask(RESUME, params)
    invocation.give_long(found, lambda screen: texts.resumption(found, screen))
    return 0


def _fork(invocation: Invocation) -> int:
    options = invocation.options
    word = typed.text(options.source)
    params = Fork(
        workspace=typed.workspace(options.workspace),
        folder=typed.absolute(options.folder),
        turn=options.at_turn,
        new_session=options.new_session and typed.text(options.new_session),
    )
    as_session, as_checkpoint = replace(params, session=word), replace(params, checkpoint=word)
    # Only a session has turns, and only some words can be a checkpoint's name.
    is_session = options.at_turn is not None or not _CHECKPOINT_NAME.fullmatch(word)
    candidates = [as_session] if is_session else [as_checkpoint, as_session]
    made, taken = _first_known(invocation, candidates)
    invocation.give(made, lambda screen: texts.forked(made, taken, screen))
    return 0


def _first_known(invocation: Invocation, candidates: list[Fork]) -> tuple[Forked, str]:
    """A word may be a session or a checkpoint: the first that there is, and which of the two it was.

    If it is neither, what is told is what it looked like most.
    """
    unknown: UnknownSession | UnknownCheckpoint | None = None
    for params in candidates:
        try:
            made = invocation.ask_patiently(FORK, params, "Forking")
        except (UnknownSession, UnknownCheckpoint) as error:
            unknown = unknown or error
            continue
        return made, _taken(params)
    assert unknown is not None  # noqa: S101 - there is at least one candidate
    raise unknown


def _taken(params: Fork) -> str:
    if params.session is None:
        return f"checkpoint {params.checkpoint}"
    return f"the session {params.session}" + ("" if params.turn is None else f" after turn {params.turn}")


def _branch(invocation: Invocation) -> int:
    options = invocation.options
    params = Branch(
        workspace=typed.workspace(options.workspace),
        checkpoint=typed.name(options.checkpoint),
        name=typed.text(options.branch),
        force=options.force,
    )
    made = invocation.ask_patiently(BRANCH, params, "Branching")
    invocation.give(made, lambda screen: texts.branched(made, screen))
    return 0


def _resume_options(parser: ArgumentParser) -> None:
    explained = "from the turn that this checkpoint belongs to (default: from its last state)"
    parser.add_argument("--from", dest="checkpoint", metavar="ID", help=explained)


def _fork_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--at-turn",
        metavar="N",
        type=number(0),
        help="as the session was after this turn (default: its last)",
    )
    add(
        "--new-session",
        metavar="ID",
        help="what to call the session that goes on (default: made from the old one)",
    )


def _branch_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--force", action="store_true", help="also if there is a branch of that name; it is moved"
    )


COMMANDS = {
    "resume": Command(
        _resume,
        "Tell all that is needed to go on with a session: its last turn and whether that was interrupted, what was\n"
        "said, and how the files differ from its last checkpoint. The session counts as active again.",
        "backtrail resume fix-login --json",
        OF_CHECKPOINT,
        (Argument("session", "SESSION", "the id of a conversation", "1", SESSION),),
        _resume_options,
    ),
    "fork": Command(
        _fork,
        "Make a new folder with the files of an earlier point, and watch it; a session goes on there with its\n"
        "conversation up to that point. The folder must be empty, or not there yet. A number, @… or hexadecimal\n"
        "digits name a checkpoint if there is such a one; any other word names a session.",
        "backtrail fork fix-login ../other-way --at-turn 5\nbacktrail fork 42 ../before",
        OF_CHECKPOINT,
        (
            Argument("source", "SESSION|ID", "a conversation, or a checkpoint", "1", SESSION_OR_CHECKPOINT),
            Argument("folder", "DIR", "the new folder", "1", FILE),
        ),
        _fork_options,
    ),
    "branch": Command(
        _branch,
        "Make a branch in your own git repository that holds the files of a checkpoint. Its index, its HEAD and your\n"
        "files are not touched.",
        "backtrail branch 42 tried-with-sqlite",
        OF_CHECKPOINT,
        (
            Argument("checkpoint", "ID", "a checkpoint", "1", CHECKPOINT),
            Argument("branch", "NAME", "what to call the branch"),
        ),
        _branch_options,
    ),
}
