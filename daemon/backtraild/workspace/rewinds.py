"""Rewinds as values: what is asked for, what that comes to, and what the checkpoint that records it says."""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec
from msgspec import Struct

from backtraild.model import Checkpoint, Path
from backtraild.sessions import Reversal, Session
from backtraild.workspace.restoring import RestoreResult

REWIND = "rewind"  # under which a checkpoint's metadata tells of one


class Scope(StrEnum):
    """What goes back."""

    FILES = "files"
    CONVERSATION = "conversation"
    BOTH = "both"

    @property
    def has_files(self) -> bool:
        """Do files go back?"""
        return self is not Scope.CONVERSATION

    @property
    def has_conversation(self) -> bool:
        """Does the conversation go back?"""
        return self is not Scope.FILES


class Rewind(Struct, frozen=True):
    """Back to right after a turn of a session, or to right before it. With `only_session`, files that the session
    did not change stay as they are."""

    session: str
    turn: int
    before: bool = False
    scope: Scope = Scope.BOTH
    only_session: bool = False


class RewindNote(Struct, frozen=True):
    """What the checkpoint that records a rewind, or the undoing of one, says about the conversation.

    `ordinal` is that of the turn that was named, `hidden` and `shown` are those of the turns that are hidden and
    brought back. The conversation goes from one snapshot to another. `turn_count` tells turns that came later from
    those there were; `created` tells the session from a later one of the same id. `others` are paths that were
    left alone because others changed them, too.
    """

    session: str
    created: datetime
    turn: int
    ordinal: int
    before: bool
    scope: Scope
    turn_count: int
    snapshot: int | None
    snapshot_before: int | None
    hidden: tuple[int, ...] = ()
    shown: tuple[int, ...] = ()
    messages_removed: int = 0
    others: tuple[str, ...] = ()
    plan: str = ""

    def metadata(self) -> dict[str, Any]:
        """As a checkpoint carries it."""
        return {REWIND: msgspec.json.decode(msgspec.json.encode(self))}

    def is_about(self, session: Session) -> bool:
        """Was it this session, and not an earlier one of the same id?"""
        return session.id == self.session and session.created == self.created

    def reversal(self, checkpoint: int) -> Reversal:
        """What it does to the session's turns."""
        return Reversal(checkpoint, self.hidden, self.shown, self.snapshot)


class RewindPlan(Struct, frozen=True):
    """What a rewind would do now. `files` is None where no file is to go back, `paths` are those that may."""

    note: RewindNote
    checkpoint: Checkpoint | None
    files: RestoreResult | None
    paths: tuple[Path, ...] = ()

    @property
    def does_something(self) -> bool:
        """Does anything change by it?"""
        changes_files = self.files is not None and (self.files.written or self.files.deleted)
        return bool(changes_files or self.note.hidden or self.note.messages_removed)


def note_of(checkpoint: Checkpoint) -> RewindNote | None:
    """What a checkpoint tells of a rewind; None if it records none."""
    told = checkpoint.metadata.get(REWIND)
    return None if told is None else msgspec.convert(told, RewindNote)


def fingerprint(*parts: object) -> str:
    """A short name for everything that a plan consists of."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
