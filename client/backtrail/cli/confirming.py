"""Confirmation before something is lost or changed: from a person, or by an option; never by accident."""

from backtrail.cli.invocation import Invocation
from backtrail.cli.terminal import ask, can_ask
from backtrail.errors import BacktrailError


class ConfirmationNeeded(BacktrailError):
    """Nobody said yes, so nothing was changed."""

    code, exit_status = "confirmation-needed", 13


def confirm(invocation: Invocation, question: str, consequence: str) -> None:
    """Go on only after a yes. Without a terminal nobody can say it; a program says it with --yes."""
    if invocation.json or not can_ask():
        raise ConfirmationNeeded(f"{consequence} Nothing was changed.", "Add --yes if that is what you want.")
    if not ask(question):
        raise ConfirmationNeeded("Nothing was changed.")
