"""What may be asked about sessions, conversations and history: actions for a folder's worker, like `requests`."""

from collections.abc import Mapping, Sequence
from typing import Any

from backtraild.conversing import (
    BlamedLine,
    DeletedSession,
    Excerpt,
    LogPage,
    Resumption,
    RewindResult,
    SessionView,
    authors,
    excerpts,
    lifecycle,
    resuming,
    rewinding,
    saving,
    turning,
)
from backtraild.model import Path
from backtraild.requests import Action
from backtraild.sessions import (
    HitPage,
    Session,
    SessionPage,
    SessionStatus,
    Snapshot,
    SnapshotType,
    ToolCall,
    Turn,
)
from backtraild.transcripts import Source
from backtraild.workspace import Rewind


def start_session(
    session: str,
    *,
    agent: str | None = None,
    title: str | None = None,
    phase: str | None = None,
    parent: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    follows: Sequence[str] | None = None,
) -> Action[Session]:
    """Begin a session, or go on with the one there is; what is given is taken over."""
    return lambda keeper: lifecycle.start(
        keeper,
        session,
        agent=agent,
        title=title,
        phase=phase,
        parent=parent,
        metadata=metadata,
        follows=follows,
    )


def update_session(
    session: str,
    *,
    title: str | None = None,
    phase: str | None = None,
    status: SessionStatus | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Action[Session]:
    """Change what is known of a session."""
    return lambda keeper: lifecycle.update(
        keeper, session, title=title, phase=phase, status=status, metadata=metadata
    )


def end_session(session: str, reason: str = "") -> Action[Session]:
    """The conversation is over."""
    return lambda keeper: lifecycle.end(keeper, session, reason)


def sessions(
    status: SessionStatus | None = None,
    agent: str | None = None,
    parent: str | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Action[SessionPage]:
    """Sessions, the last used first."""
    return lambda keeper: keeper.workspace.sessions.list(status, agent, parent, limit, cursor)


def session(session: str, *, rewound: bool = True) -> Action[SessionView]:
    """A session with its turns, rewound ones too if wanted, and its snapshots."""
    return lambda keeper: lifecycle.view(keeper, session, rewound=rewound)


def delete_session(session: str) -> Action[DeletedSession]:
    """Let go of a session and its conversation; its checkpoints are left to retention."""
    return lambda keeper: lifecycle.delete(keeper, session)


def begin_turn(
    session: str,
    number: int | None = None,
    *,
    role: str = "user",
    prompt: str = "",
    metadata: Mapping[str, Any] | None = None,
) -> Action[Turn]:
    """A turn begins: what is on the disk now is the state before it."""
    return lambda keeper: turning.begin(keeper, session, number, role, prompt, metadata)


def tool_used(session: str, call: ToolCall, turn: int | None = None) -> Action[Turn]:
    """A tool was used in the turn under way, or in another."""
    return lambda keeper: turning.tool_used(keeper, session, call, turn)


def attach(
    session: str,
    source: Source,
    *,
    turn: int | None = None,
    checkpoint: str | None = None,
    type: SnapshotType = SnapshotType.MANUAL,  # noqa: A002 - the word for it everywhere
    metadata: Mapping[str, Any] | None = None,
) -> Action[Snapshot]:
    """Record a conversation by itself, bound to a turn and a checkpoint if they are named."""
    return lambda keeper: saving.attach(keeper, session, source, type, turn, checkpoint, metadata)


def conversation(
    session: str,
    turn: int | None = None,
    start: int = 0,
    limit: int = 1000,
    *,
    snapshot: int | None = None,
) -> Action[Excerpt]:
    """Messages as they are now, were after a turn, or are in a snapshot; a negative start counts from the end."""
    return lambda keeper: excerpts.page(keeper.workspace, session, turn, snapshot, start, limit)


def rewind(
    wanted: Rewind,
    *,
    confirm: bool = False,
    plan: str | None = None,
    contents: bool = False,
    request: str | None = None,
) -> Action[RewindResult]:
    """Go back to right after a turn, or right before one; unconfirmed, it only tells what it would do."""
    return lambda keeper: rewinding.rewind(
        keeper, wanted, confirm=confirm, plan=plan, contents=contents, request=request
    )


def resume(session: str, checkpoint: str | None = None) -> Action[Resumption]:
    """All that is needed to go on with a session, from its last state or from a checkpoint of it."""
    return lambda keeper: resuming.resume(keeper, session, checkpoint)


def log(path: Path, limit: int = 50, cursor: str | None = None) -> Action[LogPage]:
    """The versions of a file or folder, newest first, with the turns that made them."""
    return lambda keeper: authors.log(keeper.workspace, path, limit, cursor)


def blame(path: Path, checkpoint: str | None = None) -> Action[list[BlamedLine]]:
    """Where each line of a file comes from; without a checkpoint, of the file as it is now."""
    return lambda keeper: authors.blame(keeper.workspace, path, checkpoint)


def search(
    words: str, session: str | None = None, limit: int = 50, cursor: str | None = None
) -> Action[HitPage]:
    """Words in messages, prompts and paths, newest first."""
    return lambda keeper: keeper.workspace.search(words, session, limit, cursor)
