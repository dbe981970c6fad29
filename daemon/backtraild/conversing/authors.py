"""Which turn a version of a file, or a line of it, is from.

A checkpoint that was made for a session says so itself. An automatic one belongs to the turn under way when it was
made, if that was one only.
"""

import contextlib
from functools import partial

from backtrail.errors import BacktrailError
from backtraild.conversing.model import Authorship, BlamedLine, LoggedVersion, LogPage
from backtraild.model import Path
from backtraild.sessions import Turn
from backtraild.workspace import BEFORE_TURN, Workspace


def log(workspace: Workspace, path: Path, limit: int, cursor: str | None) -> LogPage:
    """The versions of a file or folder, newest first."""
    page = workspace.log(path, limit, cursor)
    author = partial(_author, workspace, {})
    versions = tuple(LoggedVersion(one, author(one.checkpoint.number)) for one in page.versions)
    return LogPage(versions, page.next)


def blame(workspace: Workspace, path: Path, checkpoint: str | None) -> list[BlamedLine]:
    """Where each line of a file comes from."""
    author = partial(_author, workspace, {})
    lines = workspace.blame(path, checkpoint)
    return [
        BlamedLine(line, None if line.origin is None else author(line.origin.checkpoint)) for line in lines
    ]


def _author(workspace: Workspace, known: dict[int, Authorship | None], number: int) -> Authorship | None:
    if number not in known:
        known[number] = None
        # The history of a file does not depend on a session's records.
        with contextlib.suppress(BacktrailError):
            known[number] = _found(workspace, number)
    return known[number]


def _found(workspace: Workspace, number: int) -> Authorship | None:
    checkpoint = workspace.history.find(str(number))
    around = workspace.sessions.turns_around(number)
    session = None if BEFORE_TURN in checkpoint.metadata else checkpoint.session
    if session is not None:
        prompt = next(
            (turn.prompt for name, turn in around if _is(name, turn, session, checkpoint.turn)), None
        )
        return Authorship(session, checkpoint.turn, prompt)
    if len({name for name, _ in around}) != 1:
        return None
    name, turn = around[-1]
    return Authorship(name, turn.number, turn.prompt)


def _is(name: str, turn: Turn, session: str, number: int | None) -> bool:
    return name == session and turn.number == number
