"""Checkpoints with what was said up to them."""

import contextlib

from msgspec.structs import replace

from backtrail.errors import BacktrailError
from backtraild.keeper import Keeper
from backtraild.model import Checkpoint
from backtraild.state import Query
from backtraild.workspace import Page, Workspace


def checkpoint(keeper: Keeper, name: str) -> Checkpoint:
    """One checkpoint with its changes."""
    return described(keeper.workspace, keeper.workspace.history.get(name))


def page(keeper: Keeper, query: Query) -> Page:
    """Checkpoints, newest first."""
    found = keeper.workspace.history.list(query)
    return replace(found, checkpoints=tuple(described(keeper.workspace, one) for one in found.checkpoints))


def described(workspace: Workspace, checkpoint: Checkpoint) -> Checkpoint:
    """A checkpoint with the hash of the conversation that was recorded with it."""
    said = None
    if checkpoint.session is not None:
        with contextlib.suppress(BacktrailError):  # the files can be had back, whatever became of the session
            said = workspace.sessions.said_by(checkpoint.session, checkpoint.number)
    return checkpoint if said is None else replace(checkpoint, conversation=said.content_hash)
