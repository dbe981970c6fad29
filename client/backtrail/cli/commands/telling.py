"""`session start`, `update`, `end`, `turn`, `attach`: what an agent, or a script around it, tells about its session."""

from argparse import ArgumentParser

from backtrail.cli import typed
from backtrail.cli.command import FILE, OF_CHECKPOINT, SESSION, Argument, Command
from backtrail.cli.commands.saving import pair, warn_of_followed
from backtrail.cli.commands.sessions import STATUSES
from backtrail.cli.given import conversation
from backtrail.cli.invocation import Invocation
from backtrail.cli.parser import number
from backtrail.cli.render import sessions as texts
from backtrail.cli.words import count
from backtrail.session_protocol import (
    ATTACH,
    SESSION_END,
    SESSION_START,
    SESSION_UPDATE,
    TURN_START,
    Attach,
    SessionEnd,
    SessionStart,
    SessionUpdate,
    TurnStart,
)
from backtrail.session_values import SessionSummary


def _start(invocation: Invocation) -> int:
    options = invocation.options
    params = SessionStart(
        workspace=typed.workspace(options.workspace),
        session=typed.text(options.session),
        agent=_given(options.agent),
        title=_given(options.title),
        phase=_given(options.phase),
        parent=_given(options.parent),
        metadata=dict(options.meta) or None,
        follows=[typed.workspace(each) for each in options.follow] or None,
    )
    return _told(invocation, invocation.ask(SESSION_START, params))


def _update(invocation: Invocation) -> int:
    options = invocation.options
    params = SessionUpdate(
        workspace=typed.workspace(options.workspace),
        session=typed.text(options.session),
        title=_given(options.title),
        phase=_given(options.phase),
        status=options.status,
        metadata=dict(options.meta) or None,
    )
    return _told(invocation, invocation.ask(SESSION_UPDATE, params))


def _end(invocation: Invocation) -> int:
    options = invocation.options
    params = SessionEnd(
        workspace=typed.workspace(options.workspace),
        session=typed.text(options.session),
        reason=_given(options.reason) or "",
    )
    return _told(invocation, invocation.ask(SESSION_END, params))


def _turn(invocation: Invocation) -> int:
    options = invocation.options
    session = typed.text(options.session)
    params = TurnStart(
        workspace=typed.workspace(options.workspace),
        session=session,
        turn=options.turn,
        role=typed.text(options.role),
        prompt=_given(options.prompt) or "",
        metadata=dict(options.meta),
    )
    begun = invocation.ask_patiently(TURN_START, params, "Saving")
    invocation.give(begun, lambda screen: texts.turn_started(session, begun, screen))
    warn_of_followed(invocation, begun.also)
    return 0


def _attach(invocation: Invocation) -> int:
    options = invocation.options
    params = Attach(
        workspace=typed.workspace(options.workspace),
        session=typed.text(options.session),
        conversation=conversation(options.file),
        turn=options.turn,
        checkpoint=options.checkpoint and typed.name(options.checkpoint),
    )
    done = invocation.ask_patiently(ATTACH, params, "Recording")
    messages = count(done.snapshot.message_count, "message")
    invocation.give(done, lambda _: f"Recorded: {messages}.")
    return 0


def _told(invocation: Invocation, found: SessionSummary) -> int:
    invocation.give(found, lambda screen: texts.session_told(found, screen))
    warn_of_followed(invocation, found.also)
    return 0


def _given(word: str | None) -> str | None:
    return None if word is None else typed.text(word)


def _start_options(parser: ArgumentParser) -> None:
    parser.add_argument("--agent", metavar="NAME", help="who speaks with the user")
    parser.add_argument("--parent", metavar="ID", help="the session that this one is part of")
    explained = "also save and rewind this watched folder with each turn; may be given more than once"
    parser.add_argument("--follow", metavar="PATH", action="append", default=[], help=explained)
    _description_options(parser)


def _update_options(parser: ArgumentParser) -> None:
    told = "whether somebody works in it: " + ", ".join(STATUSES)
    parser.add_argument("--status", metavar="STATUS", choices=STATUSES, help=told)
    _description_options(parser)


def _description_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--title", metavar="TEXT", help="what it is about")
    add("--phase", metavar="PHASE", help="what is being done now, as in planning or testing")
    _metadata_option(parser)


def _metadata_option(parser: ArgumentParser) -> None:
    explained = "keep this with it; may be given more than once"
    parser.add_argument("--meta", metavar="KEY=VALUE", action="append", default=[], type=pair, help=explained)


def _end_options(parser: ArgumentParser) -> None:
    parser.add_argument("--reason", metavar="TEXT", help="why it ended")


def _turn_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--prompt", metavar="TEXT", help="what is asked")
    add("--turn", metavar="N", type=number(0), help="its number (default: the next one)")
    add("--role", metavar="ROLE", default="user", help="who asks (default: user)")
    _metadata_option(parser)


def _attach_options(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add("--turn", metavar="N", type=number(0), help="the turn that it ended with")
    add("--checkpoint", metavar="ID", help="the checkpoint that was made then")


_ONE = Argument("session", "SESSION", "the agent's own id of the conversation", "1", SESSION)

COMMANDS = {
    "session start": Command(
        _start,
        "Begin a session in this workspace, or go on with it if it is there. What is given is kept with it. With\n"
        "--follow, its turns are saved and rewound in other watched folders, too, such as a worktree;\n"
        "`backtrail undo` takes a rewind back in one folder at a time.",
        "backtrail session start fix-login --agent claude --title 'Repair the login' --phase planning\n"
        "backtrail session start fix-login --follow ../worktree",
        arguments=(_ONE,),
        options=_start_options,
    ),
    "session update": Command(
        _update,
        "Change what is known of a session. Another phase is a step in the timeline.",
        "backtrail session update fix-login --phase testing",
        arguments=(_ONE,),
        options=_update_options,
    ),
    "session end": Command(
        _end,
        "End a session. A turn that is still under way counts as interrupted.",
        "backtrail session end fix-login --reason 'merged'",
        arguments=(_ONE,),
        options=_end_options,
    ),
    "session turn": Command(
        _turn,
        "Begin a turn: what is on the disk now is kept as the state before it. `backtrail save --session SESSION\n"
        "--turn N` ends it. A session that is not known yet begins with it.",
        "backtrail session turn fix-login --prompt 'Add a test for the empty password'",
        arguments=(_ONE,),
        options=_turn_options,
    ),
    "session attach": Command(
        _attach,
        "Record a conversation by itself, for example where `save` could make the checkpoint but not read the\n"
        "conversation.",
        "backtrail session attach fix-login transcript.jsonl --turn 4",
        OF_CHECKPOINT,
        (
            _ONE,
            Argument(
                "file", "FILE", "the conversation, as JSON lines or as a JSON array; - is stdin", "1", FILE
            ),
        ),
        _attach_options,
    ),
}
