"""What the daemon answers about conversations and history, as typed values: their fields are those of the JSON."""

from datetime import datetime
from typing import Any

from backtrail.values import CheckpointSummary, Conflict, Followed, Value


class ToolUse(Value, frozen=True, kw_only=True):
    """A tool that was used in a turn; `input` is the beginning of what it was given."""

    name: str
    id: str = ""
    input: str = ""
    started: datetime | None = None
    ended: datetime | None = None


class Turn(Value, frozen=True, kw_only=True):
    """One message exchange; `before` and `after` are numbers of checkpoints."""

    turn: int
    ordinal: int
    role: str
    prompt: str
    started: datetime
    ended: datetime | None
    tools: list[ToolUse]
    before: int | None
    after: int | None
    rewound: bool
    interrupted: bool
    messages: int | None  # how long the conversation was after it, where it was recorded
    metadata: dict[str, Any]
    also: list[Followed] = []


class ConversationSnapshot(Value, frozen=True, kw_only=True):
    """A conversation at one moment: the first messages of a generation.

    A new generation begins when the conversation is no longer an extension of what it was.
    """

    number: int
    generation: int
    type: str  # auto, manual or checkpoint
    message_count: int
    bytes: int
    content_hash: str
    created: datetime
    redacted: dict[str, int]
    metadata: dict[str, Any]
    turn: int | None = None
    checkpoint: int | None = None
    incomplete: bool = False


class SessionSummary(Value, frozen=True, kw_only=True):
    """One agent conversation, as a list shows it. `status` is active, idle or ended.

    `follows` are the ids of other workspaces in which what is done for it is done, too.
    """

    session: str
    agent: str
    title: str
    phase: str
    status: str
    parent: str | None
    forked_from: str | None
    forked_at: str | None
    created: datetime
    updated: datetime
    turn_count: int
    metadata: dict[str, Any]
    follows: list[str] = []
    also: list[Followed] = []


class Session(SessionSummary, frozen=True, kw_only=True):
    """One agent conversation with its turns and its snapshots."""

    turns: list[Turn]
    snapshots: list[ConversationSnapshot]


class SessionPage(Value, frozen=True, kw_only=True):
    """Some sessions, the last used first."""

    sessions: list[SessionSummary]
    next: str | None = None


class DeletedSession(Value, frozen=True, kw_only=True):
    """A session that is gone; its checkpoints are left to retention."""

    session: str
    checkpoints: list[int]


class Messages(Value, frozen=True, kw_only=True):
    """Some messages of a conversation from `start` on; it has `message_count` of them.

    `snapshot` names it, so that the next page is of the same one; None where nothing was recorded yet. A line of a
    transcript that is not JSON is given as text.
    """

    session: str
    snapshot: int | None
    start: int
    message_count: int
    messages: list[Any]


class Restoration(Value, frozen=True, kw_only=True):
    """A file as a rewind leaves it: its content, or that it is deleted."""

    path: str
    deleted: bool
    content_base64: str = ""


class RewindResult(Value, frozen=True, kw_only=True):
    """What a rewind did, or would do once it is confirmed; `plan` is given back to confirm exactly that.

    `conversation` holds the last messages that are left, at most about 4 MB; `message_count` is how many there
    are. `result` is the checkpoint of the state afterwards, `prompt` that of the turn to be tried again.
    `session_conflicts` are paths that others changed too. `also` is what goes back in followed workspaces.
    """

    session: str
    turn: int
    scope: str  # files, conversation or both
    checkpoint: CheckpointSummary | None
    safety_checkpoint: CheckpointSummary | None
    requires_confirmation: bool
    plan: str
    written: list[str]
    deleted: list[str]
    unchanged: int
    conflicts: list[Conflict]
    turns_rewound: list[int]
    messages_removed: int
    message_count: int
    conversation: list[Any]
    result: CheckpointSummary | None = None
    prompt: str | None = None
    session_conflicts: list[Conflict] = []
    restorations: list[Restoration] | None = None
    also: list[Followed] = []


class Resumption(Value, frozen=True, kw_only=True):
    """All that is needed to go on with a session; `changes` are how the disk differs from its last checkpoint."""

    session: Session
    last_turn: Turn | None
    interrupted: bool
    checkpoint: CheckpointSummary | None
    added_files: list[str]
    modified_files: list[str]
    deleted_files: list[str]
    message_count: int
    conversation: list[Any]


class Forked(Value, frozen=True, kw_only=True):
    """A new folder with the files of an earlier point, and the session that goes on in it."""

    workspace: str
    root: str
    checkpoint: int
    session: str | None
    forked_from: str
    forked_at: str
    files: int


class Branched(Value, frozen=True, kw_only=True):
    """A branch in the user's own repository."""

    repository: str
    branch: str
    commit: str
    parent: str | None
    checkpoint: int


class HistoryEvent(Value, frozen=True, kw_only=True):
    """One line of the timeline. `type` is task, chat, checkpoint, phase or file; `seq` that of the event it is from."""

    seq: int
    type: str
    subtype: str
    time: datetime
    data: dict[str, Any]
    phase: str | None = None
    session: str | None = None
    turn: int | None = None
    checkpoint: int | None = None
    path: str | None = None


class Timeline(Value, frozen=True, kw_only=True):
    """Some of what happened, oldest first; `next` is the cursor of the next page where there is one.

    What happened before the event `first` is not kept any more.
    """

    events: list[HistoryEvent]
    next: int | None = None
    first: int = 1


class FileVersion(Value, frozen=True, kw_only=True):
    """A checkpoint in which a file, or something in a folder, changed."""

    checkpoint: int
    id: str
    timestamp: datetime
    kind: str
    message: str
    path: str
    status: str
    size: int
    insertions: int | None = None
    deletions: int | None = None
    old_path: str | None = None
    session: str | None = None
    turn: int | None = None
    prompt: str | None = None


class FileHistory(Value, frozen=True, kw_only=True):
    """The versions of a file, newest first."""

    path: str
    versions: list[FileVersion]
    next: str | None = None


class BlamedLine(Value, frozen=True, kw_only=True):
    """One line of a file, and the checkpoint that brought it; None for one that is not saved yet."""

    line: int
    text: str
    checkpoint: int | None
    timestamp: datetime | None
    session: str | None = None
    turn: int | None = None


class Blame(Value, frozen=True, kw_only=True):
    """A file, line by line."""

    path: str
    lines: list[BlamedLine]


class SearchHit(Value, frozen=True, kw_only=True):
    """A place where all the words are; `marks` are where in the snippet they begin and end."""

    found: str  # message, prompt or path
    time: datetime
    snippet: str
    marks: list[tuple[int, int]]
    session: str | None = None
    turn: int | None = None
    message: int | None = None
    role: str | None = None
    checkpoint: int | None = None
    path: str | None = None
    rewound: bool = False


class SearchResult(Value, frozen=True, kw_only=True):
    """What was found, newest first."""

    hits: list[SearchHit]
    next: str | None = None


class Attached(Value, frozen=True, kw_only=True):
    """A conversation that is recorded with its session."""

    session: str
    snapshot: ConversationSnapshot
