"""`session browse`: a conversation on the full screen, where a message is edited and files go back to before it."""

import os
import sys
from typing import TYPE_CHECKING

from backtrail.cli import typed
from backtrail.cli.browse import model
from backtrail.cli.browse.asking import Asking
from backtrail.cli.browse.browser import Browser, Edited
from backtrail.cli.browse.drawing import result
from backtrail.cli.characters import visible
from backtrail.cli.command import OF_CHECKPOINT, SESSION, Argument, Command
from backtrail.cli.invocation import Invocation
from backtrail.cli.terminal import can_ask, wants_colour
from backtrail.errors import UsageError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from backtrail.cli.browse.fullscreen import FullScreen

_INSTEAD = "`backtrail session show {}` prints the turns; `backtrail rewind` goes back."


def _browse(invocation: Invocation) -> int:
    session = typed.text(invocation.options.session)
    if not can_ask():
        raise UsageError("`backtrail session browse` needs a terminal.", _INSTEAD.format(session))
    asking = Asking(invocation.client, typed.workspace(invocation.options.workspace), session)
    # What is wrong with the name of the session is told before the screen is cleared.
    found, changed = asking.session(), asking.changed()
    with _full_screen(invocation, session) as terminal:
        edited = Browser(terminal, asking, model.opened(found, changed, *terminal.size)).run()
    if edited is not None:
        _give(invocation, edited)
    return 0


def _full_screen(invocation: Invocation, session: str) -> "AbstractContextManager[FullScreen]":
    try:
        from backtrail.cli.browse.fullscreen import opened
    except ImportError as error:
        raise UsageError("This Python was built without curses.", _INSTEAD.format(session)) from error
    return opened(wants_colour(invocation.options.colour, True, os.environ))


def _give(invocation: Invocation, edited: Edited) -> None:
    """The prompt is the result; what was done is said beside it. A pipe gets it as it is."""
    prompt = edited.prompt
    text = visible(prompt, "\n\t") if sys.stdout.isatty() else prompt
    invocation.give({"prompt": prompt, "rewind": edited.rewind}, lambda _: text)
    invocation.note(f"{result(edited.rewind)} `backtrail undo` takes that back.")


COMMANDS = {
    "session browse": Command(
        _browse,
        "Look at a conversation on the full screen. Arrows choose a turn, Space shows its messages, Enter opens its\n"
        "prompt in $VISUAL or $EDITOR. A changed prompt takes files and conversation back to before it, after a look\n"
        "at what that does, and is printed to be sent again; u undoes it. Escape leaves.",
        "backtrail session browse fix-login",
        (*OF_CHECKPOINT, 13),
        (Argument("session", "SESSION", "the id of a conversation", "1", SESSION),),
    ),
}
