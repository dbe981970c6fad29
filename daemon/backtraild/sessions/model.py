"""The values that sessions are made of, and what can be wrong with a name; nothing here touches a disk."""

import hashlib
import re
from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from backtrail.errors import UsageError
from backtraild.model import Path

ID_LIMIT = 200
HIGHEST_NUMBER = 2**62  # more does not fit into a table
FORMAT = 1


class SessionStatus(StrEnum):
    """Is somebody working in it: yes, not now, not any more."""

    ACTIVE = "active"
    IDLE = "idle"
    ENDED = "ended"


class SnapshotType(StrEnum):
    """Why a conversation was recorded."""

    AUTO = "auto"
    MANUAL = "manual"
    CHECKPOINT = "checkpoint"


class Found(StrEnum):
    """Where words were found."""

    MESSAGE = "message"
    PROMPT = "prompt"
    PATH = "path"


class Moment(Struct, frozen=True):
    """Something in the life of a session that is not a turn: a phase begun, a rewind, a fork, a resumption."""

    kind: str
    time: datetime
    data: Mapping[str, Any] = field(default_factory=dict)


class Session(Struct, frozen=True):
    """One agent conversation. A sub-agent is a session with a parent.

    `turn_count` and `snapshot_count` are how many records there are, rewound ones among them; `open_turn` is the
    ordinal of the turn under way. `snapshot` is the conversation as it is now, which after a rewind is not the
    newest one, and `rewound_by` the checkpoint that recorded the last rewind. `moments` holds the newest ones.
    `follows` are other workspaces, by their ids, in which what is done for it is done, too.
    """

    id: str
    created: datetime
    updated: datetime
    agent: str = ""
    title: str = ""
    phase: str = ""
    status: SessionStatus = SessionStatus.ACTIVE
    parent: str | None = None
    forked_from: str | None = None
    forked_at: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    moments: tuple[Moment, ...] = ()
    turn_count: int = 0
    snapshot_count: int = 0
    last_number: int = 0
    open_turn: int | None = None
    snapshot: int | None = None
    rewound_by: int = 0
    redacted: Mapping[str, int] = field(default_factory=dict)
    follows: tuple[str, ...] = ()
    format: int = FORMAT


class ToolCall(Struct, frozen=True):
    """A tool that was used in a turn. Its input may be any JSON value; what is kept of it is a short text."""

    name: str
    id: str = ""
    input: Any = ""
    started: datetime | None = None
    ended: datetime | None = None


class Turn(Struct, frozen=True):
    """One message exchange.

    Ordinals count the records of a session and never come again; a number may, after a rewind. `before` and
    `after` are checkpoints, `snapshot` is the conversation after the turn. `tools` lists the first ones,
    `more_tools` counts the others. `interrupted` says that it ended without having been told to.
    """

    ordinal: int
    number: int
    started: datetime
    role: str = "user"
    prompt: str = ""
    prompt_cut: bool = False
    ended: datetime | None = None
    interrupted: bool = False
    rewound: bool = False
    tools: tuple[ToolCall, ...] = ()
    more_tools: int = 0
    before: int | None = None
    after: int | None = None
    snapshot: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    redacted: Mapping[str, int] = field(default_factory=dict)


class Snapshot(Struct, frozen=True):
    """A conversation at one moment: the first messages of a generation, of which the last `appended` were new."""

    number: int
    generation: int
    message_count: int
    type: SnapshotType
    bytes: int
    content_hash: str
    created: datetime
    turn: int | None = None
    checkpoint: int | None = None
    incomplete: bool = False
    appended: int = 0
    redacted: Mapping[str, int] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


class Reversal(Struct, frozen=True):
    """What a rewind, or the undoing of one, does to a session: which turns, by their ordinals, it hides and brings
    back, and which snapshot is the conversation then. `checkpoint` is the one that records it."""

    checkpoint: int
    hidden: tuple[int, ...]
    shown: tuple[int, ...]
    snapshot: int | None


class SessionPage(Struct, frozen=True):
    """Some sessions, the last used first; `next` is given to the next query where there are more."""

    sessions: tuple[Session, ...]
    next: str | None


class Hit(Struct, frozen=True):
    """A place where all the words are. `marks` are where in the snippet they begin and end.

    A message is counted from 0 in its generation of the conversation, which need not be the newest one.
    """

    found: Found
    time: datetime
    snippet: str
    marks: tuple[tuple[int, int], ...] = ()
    session: str | None = None
    turn: int | None = None
    rewound: bool = False
    message: int | None = None
    generation: int | None = None
    role: str | None = None
    checkpoint: int | None = None
    path: Path | None = None


class HitPage(Struct, frozen=True):
    """Some hits, newest first; `next` is given to the next search where there are more."""

    hits: tuple[Hit, ...]
    next: str | None


def check_session_id(session: str) -> None:
    """Refuse an id that nobody could type or print."""
    if not (0 < len(session) <= ID_LIMIT and session.isprintable()):
        raise UsageError(
            f"A session's id has 1 to {ID_LIMIT} printable characters, and is not {session[:50]!a}.",
            "Use the agent's own id of the conversation, or a UUID.",
        )


def check_number(what: str, number: int | None) -> None:
    """Refuse a number that nothing could have."""
    if number is not None and not 0 <= number <= HIGHEST_NUMBER:
        raise UsageError(f"{what} counts up from 0 or 1, and is not {number}.")


def session_key(session: str) -> str:
    """A name for a session that is readable, fit for a ref, and belongs to its id alone."""
    check_session_id(session)
    digest = hashlib.sha256(session.encode()).hexdigest()[:16]
    readable = re.sub(r"[^a-z0-9]+", "-", session.lower()).strip("-")[:24].rstrip("-")
    return f"{readable or 'session'}-{digest}"
