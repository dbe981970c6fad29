"""What is asked of a watched folder about its sessions, and what it answers; nothing here touches a disk."""

from msgspec import Struct

from backtraild.model import Checkpoint, Path
from backtraild.restore import Conflict
from backtraild.sessions import Session, Snapshot, ToolCall, Turn
from backtraild.transcripts import Source
from backtraild.workspace import Line, Scope, Version


class Talk(Struct, frozen=True):
    """What a save tells about the turn that it ends: what was said, what was used, by whom."""

    conversation: Source | None = None
    prompt: str | None = None
    role: str | None = None
    tools: tuple[ToolCall, ...] = ()
    agent: str | None = None
    title: str | None = None
    phase: str | None = None


class SessionView(Struct, frozen=True):
    """A session with its turns and snapshots."""

    session: Session
    turns: tuple[Turn, ...]
    snapshots: tuple[Snapshot, ...]


class Excerpt(Struct, frozen=True):
    """Some messages of a conversation, as lines, from `start` on; it has `message_count` of them.

    `snapshot` is where they are from; None where nothing has been said yet.
    """

    snapshot: int | None
    start: int
    message_count: int
    lines: tuple[bytes, ...]


class Restoration(Struct, frozen=True):
    """A file as a rewind leaves it; without content, it is deleted."""

    path: Path
    content: bytes | None


class RewindResult(Struct, frozen=True):
    """What a rewind did, or would do once it is confirmed; `plan` is given back to confirm exactly that.

    `checkpoint` is what the files go back to, `result` records the state afterwards. `turns_rewound` are numbers of
    turns. `prompt` is that of the turn to be tried again, `session_conflicts` are paths that others changed too,
    `restorations` are there if they were asked for.
    """

    session: str
    turn: int
    scope: Scope
    checkpoint: Checkpoint | None
    safety_checkpoint: Checkpoint | None
    result: Checkpoint | None
    requires_confirmation: bool
    plan: str
    written: tuple[Path, ...]
    deleted: tuple[Path, ...]
    unchanged: int
    conflicts: tuple[Conflict, ...]
    turns_rewound: tuple[int, ...]
    messages_removed: int
    conversation: Excerpt
    prompt: str | None = None
    session_conflicts: tuple[Path, ...] = ()
    restorations: tuple[Restoration, ...] | None = None


class Resumption(Struct, frozen=True):
    """All that is needed to go on with a session, and how the disk differs from its checkpoint."""

    view: SessionView
    last_turn: Turn | None
    interrupted: bool
    checkpoint: Checkpoint | None
    added: tuple[Path, ...]
    modified: tuple[Path, ...]
    deleted: tuple[Path, ...]
    conversation: Excerpt


class DeletedSession(Struct, frozen=True):
    """A session that is gone, and the checkpoints that were made for it."""

    session: str
    checkpoints: tuple[int, ...]


class Authorship(Struct, frozen=True):
    """The turn in which a checkpoint was made."""

    session: str
    turn: int | None
    prompt: str | None


class LoggedVersion(Struct, frozen=True):
    """A version of a file, and the turn that made it where that is known."""

    version: Version
    author: Authorship | None


class LogPage(Struct, frozen=True):
    """Some versions of a file, newest first; `next` is given to the next question where there are more."""

    versions: tuple[LoggedVersion, ...]
    next: str | None


class BlamedLine(Struct, frozen=True):
    """A line of a file, and the turn that brought it where that is known."""

    line: Line
    author: Authorship | None
