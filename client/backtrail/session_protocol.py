"""The wire, continued: the methods of conversations and history with their parameters; see PROTOCOL.md."""

from typing import Any

from backtrail import session_values as answers
from backtrail.protocol import Conversation, Method, OfCheckpoint, OfWorkspace, Tool

# A page of a conversation ends at the first of these, but has at least one message.
MAX_MESSAGES = 1000
MAX_MESSAGES_BYTES = 4 * 1024 * 1024


class OfSession(OfWorkspace, frozen=True, kw_only=True):
    """`session` is the agent's id of the conversation."""

    session: str


class SessionStart(OfSession, frozen=True, kw_only=True):
    """Begin a session, or give what is known of it; what is given is updated.

    What is done for it in this workspace is done in those that it `follows`, too; they are named like this one.
    """

    agent: str | None = None
    title: str | None = None
    phase: str | None = None
    parent: str | None = None
    metadata: dict[str, Any] | None = None
    follows: list[str] | None = None


class SessionUpdate(OfSession, frozen=True, kw_only=True):
    """Change what is known of a session."""

    title: str | None = None
    phase: str | None = None
    status: str | None = None
    metadata: dict[str, Any] | None = None


class SessionEnd(OfSession, frozen=True, kw_only=True):
    """The conversation is over."""

    reason: str = ""


class SessionList(OfWorkspace, frozen=True, kw_only=True):
    """The sessions of a workspace, the last used first."""

    status: str | None = None
    agent: str | None = None
    parent: str | None = None
    limit: int = 50
    cursor: str | None = None


class SessionShow(OfSession, frozen=True, kw_only=True):
    """A session with its turns."""

    rewound: bool = True


class TurnStart(OfSession, frozen=True, kw_only=True):
    """A turn begins: what is on the disk now is its state before. Without a number, the next one is taken."""

    turn: int | None = None
    role: str = "user"
    prompt: str = ""
    metadata: dict[str, Any] = {}


class ToolUsed(OfSession, frozen=True, kw_only=True):
    """A tool was used in the turn under way, or in another."""

    tool: Tool
    turn: int | None = None


class ReadConversation(OfSession, frozen=True, kw_only=True):
    """Messages of the conversation: as it is now, as it was after a turn, or as a snapshot holds it.

    A negative `start` counts from the end.
    """

    turn: int | None = None
    snapshot: int | None = None
    start: int = 0
    limit: int = MAX_MESSAGES


class Attach(OfSession, frozen=True, kw_only=True):
    """Record the conversation by itself, for instance where it could not be recorded with its checkpoint."""

    conversation: Conversation
    turn: int | None = None
    checkpoint: str | None = None
    type: str = "manual"
    metadata: dict[str, Any] = {}


class Rewind(OfSession, frozen=True, kw_only=True):
    """Go back to right after a turn, or to right before one. Without `confirm` it only tells what it would do.

    `scope` is files, conversation or both. With `only_session`, only paths that the session itself changed go back.
    `plan`, from the answer to the unconfirmed request, makes sure that nothing else is done.
    """

    to_turn: int | None = None
    before_turn: int | None = None
    scope: str = "both"
    only_session: bool = False
    confirm: bool = False
    plan: str | None = None
    contents: bool = False
    request: str | None = None


class Resume(OfSession, frozen=True, kw_only=True):
    """All that is needed to go on with a session, from its last state or from a checkpoint of it."""

    checkpoint: str | None = None


class Fork(OfWorkspace, frozen=True, kw_only=True):
    """A new folder with the files of a checkpoint, or of a session's turn, watched, with a session that goes on."""

    folder: str
    session: str | None = None
    turn: int | None = None
    checkpoint: str | None = None
    new_session: str | None = None


class Branch(OfCheckpoint, frozen=True, kw_only=True):
    """A branch with the checkpoint's files in the user's own repository; index, HEAD and work tree stay."""

    name: str
    force: bool = False


class AskTimeline(OfWorkspace, frozen=True, kw_only=True):
    """What happened, oldest first; `type` is task, chat, checkpoint, phase or file."""

    type: str | None = None
    session: str | None = None
    phase: str | None = None
    since: str | None = None
    until: str | None = None
    path: str | None = None
    limit: int = 100
    cursor: int | None = None


class Log(OfWorkspace, frozen=True, kw_only=True):
    """The checkpoints in which a file, or something in a folder, changed, newest first."""

    path: str
    limit: int = 50
    cursor: str | None = None


class AskBlame(OfWorkspace, frozen=True, kw_only=True):
    """Which checkpoint each line of a file is from; without a checkpoint, of the file as it is now."""

    path: str
    checkpoint: str | None = None


class Search(OfWorkspace, frozen=True, kw_only=True):
    """Words in messages, prompts and paths."""

    words: str
    session: str | None = None
    limit: int = 50
    cursor: str | None = None


SESSION_START = Method("session_start", SessionStart, answers.SessionSummary, repeatable=True)
SESSION_UPDATE = Method("session_update", SessionUpdate, answers.SessionSummary, repeatable=True)
SESSION_END = Method("session_end", SessionEnd, answers.SessionSummary, repeatable=True)
SESSION_LIST = Method("session_list", SessionList, answers.SessionPage, repeatable=True)
SESSION_SHOW = Method("session_show", SessionShow, answers.Session, repeatable=True)
SESSION_DELETE = Method("session_delete", OfSession, answers.DeletedSession, repeatable=False)
TURN_START = Method("turn_start", TurnStart, answers.Turn, repeatable=False)
TOOL_USED = Method("tool_used", ToolUsed, answers.Turn, repeatable=False)
CONVERSATION = Method("conversation", ReadConversation, answers.Messages, repeatable=True)
ATTACH = Method("attach", Attach, answers.Attached, repeatable=True)
REWIND = Method("rewind", Rewind, answers.RewindResult, repeatable=True)
RESUME = Method("resume", Resume, answers.Resumption, repeatable=True)
FORK = Method("fork", Fork, answers.Forked, repeatable=False)
BRANCH = Method("branch", Branch, answers.Branched, repeatable=False)
TIMELINE = Method("timeline", AskTimeline, answers.Timeline, repeatable=True)
LOG = Method("log", Log, answers.FileHistory, repeatable=True)
BLAME = Method("blame", AskBlame, answers.Blame, repeatable=True)
SEARCH = Method("search", Search, answers.SearchResult, repeatable=True)
