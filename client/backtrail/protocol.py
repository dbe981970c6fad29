"""The wire: every method with its parameters and its answer, the envelope, the limits; see PROTOCOL.md."""

from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec

from backtrail import values
from backtrail.values import Value

VERSION = 1
# A request beyond this is refused with an error; beyond the second, ZeroMQ drops the connection.
MAX_REQUEST_BYTES = 8 * 1024 * 1024
MAX_FRAME_BYTES = 64 * 1024 * 1024
# Files are read in pieces of at most this many bytes.
MAX_READ_BYTES = 8 * 1024 * 1024
MAX_EVENTS = 1000
# A list that is asked for more ends here, and its `next` leads on.
MAX_LIST = 1000
HEARTBEAT_TOPIC = "heartbeat"
HEARTBEAT_SECONDS = 5.0

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
FAILED = -32000  # the request was understood and could not be done; `data` says why

RequestId = str | int


class Ping(Value, frozen=True, kw_only=True):
    """Is anybody there?"""


class Watch(Value, frozen=True, kw_only=True):
    """Watch a folder from now on; `wait` for its baseline. The settings are those of the configuration file."""

    path: str
    force: bool = False
    wait: bool = True
    store: str | None = None
    auto_checkpoint: bool | None = None
    max_checkpoints: int | None = None
    max_store_bytes: int | None = None
    min_free_bytes: int | None = None
    exclude_patterns: list[str] | None = None
    quiet: float | None = None
    patience: float | None = None
    max_file_size: int | None = None
    max_files: int | None = None
    max_bytes: int | None = None
    watcher: str | None = None


class OfWorkspace(Value, frozen=True, kw_only=True):
    """`workspace` is an id, or the absolute path of a watched folder or of anything in it."""

    workspace: str


class Unwatch(OfWorkspace, frozen=True, kw_only=True):
    """Watch a folder no more; `purge` deletes its checkpoints."""

    purge: bool = False


class Workspaces(Value, frozen=True, kw_only=True):
    """What is watched."""


class Tool(Value, frozen=True, kw_only=True):
    """A tool that was used; `input` may be any JSON, of which the beginning is kept."""

    name: str
    id: str = ""
    input: Any = ""
    started: datetime | None = None
    ended: datetime | None = None


class Conversation(Value, frozen=True, kw_only=True):
    """A conversation, given in one of three ways: as messages, as text (JSONL or a JSON array), or as a file's path."""

    messages: list[msgspec.Raw] | None = None  # any JSON; kept as it was written
    content: str | None = None
    path: str | None = None


class Save(OfWorkspace, frozen=True, kw_only=True):
    """A checkpoint of everything written before the request was sent.

    `request` is any text that only this save has: repeated with it, the save is not made twice. With a session
    and a turn, it is the state after that turn; `conversation` and what follows it are recorded with them.
    """

    message: str | None = None
    kind: str = "manual"  # or agent
    session: str | None = None
    turn: int | None = None
    metadata: dict[str, Any] = {}
    allow_empty: bool = False
    full: bool = False
    request: str | None = None
    conversation: Conversation | None = None
    prompt: str | None = None
    role: str | None = None
    tools: list[Tool] = []
    agent: str | None = None
    title: str | None = None
    phase: str | None = None


class List(OfWorkspace, frozen=True, kw_only=True):
    """Checkpoints, newest first. `cursor` is the `next` of the page before."""

    limit: int = 50
    cursor: int | None = None
    since: str | None = None
    until: str | None = None
    path: str | None = None
    session: str | None = None
    kind: str | None = None
    files: bool = False


class OfCheckpoint(OfWorkspace, frozen=True, kw_only=True):
    """`checkpoint` is any name of one."""

    checkpoint: str


class Read(OfCheckpoint, frozen=True, kw_only=True):
    """A piece of one file. The path may be part of the name instead, as in `42:src/app.py`."""

    path: str | None = None
    offset: int = 0
    length: int = MAX_READ_BYTES


class Diff(OfWorkspace, frozen=True, kw_only=True, rename={"from_": "from"}):
    """From one checkpoint to another, or to the workspace as it is now. Without `content`, no patch is made."""

    from_: str = "@"
    to: str | None = None
    paths: list[str] = []
    content: bool = True


class Restore(OfCheckpoint, frozen=True, kw_only=True):
    """Make the workspace, or some paths of it, what a checkpoint holds. `request` as for `save`.

    `scope` is files, conversation or both: the conversation is that of the session whose turn the checkpoint ended.
    """

    paths: list[str] = []
    dry_run: bool = False
    request: str | None = None
    scope: str = "files"


class Undo(OfWorkspace, frozen=True, kw_only=True):
    """Take the last restore back. `request` as for `save`."""

    request: str | None = None


class Delete(OfWorkspace, frozen=True, kw_only=True):
    """Let go of checkpoints: of all of them, or of none if one is unknown."""

    checkpoints: list[str]


class Prune(OfWorkspace, frozen=True, kw_only=True):
    """Let go of what retention does not keep."""

    dry_run: bool = False


class Migrate(Value, frozen=True, kw_only=True):
    """Bring every store up to date, also those of folders that are watched no more."""


class Verify(OfWorkspace, frozen=True, kw_only=True):
    """Read every stored byte; unless `heal` is false, what is damaged and still in the folder is stored again."""

    heal: bool = True


class Mirror(OfWorkspace, frozen=True, kw_only=True):
    """Have a git repository elsewhere hold all checkpoints and conversations; `delete` those that are gone here."""

    remote: str
    dry_run: bool = False
    delete: bool = False


class Events(Value, frozen=True, kw_only=True):
    """What happened after an event, oldest first."""

    since: int
    limit: int = MAX_EVENTS
    workspace: str | None = None


class Stop(Value, frozen=True, kw_only=True):
    """Save what is pending and end the daemon."""


Params = TypeVar("Params", bound=Value)
Result = TypeVar("Result", bound=Value)


class Method(Generic[Params, Result]):
    """One method. A repeatable one may be sent again when the connection was lost before the answer came."""

    def __init__(self, name: str, params: type[Params], result: type[Result], *, repeatable: bool) -> None:
        self.name = name
        self.params = params
        self.result = result
        self.repeatable = repeatable


PING = Method("ping", Ping, values.Pong, repeatable=True)
WATCH = Method("watch", Watch, values.Watched, repeatable=True)
UNWATCH = Method("unwatch", Unwatch, values.Unwatched, repeatable=False)
WORKSPACES = Method("workspaces", Workspaces, values.WorkspaceList, repeatable=True)
STATUS = Method("status", OfWorkspace, values.WorkspaceStatus, repeatable=True)
PAUSE = Method("pause", OfWorkspace, values.WorkspaceStatus, repeatable=True)
RESUME_WATCHING = Method("resume_watching", OfWorkspace, values.WorkspaceStatus, repeatable=True)
# Repeatable because the client gives each a `request` of its own.
SAVE = Method("save", Save, values.Checkpoint, repeatable=True)
LIST = Method("list", List, values.CheckpointPage, repeatable=True)
GET = Method("get", OfCheckpoint, values.Checkpoint, repeatable=True)
READ = Method("read", Read, values.Content, repeatable=True)
DIFF = Method("diff", Diff, values.CheckpointDiff, repeatable=True)
RESTORE = Method("restore", Restore, values.RestoreResult, repeatable=True)
UNDO = Method("undo", Undo, values.RestoreResult, repeatable=True)
DELETE = Method("delete", Delete, values.DeletedCheckpoints, repeatable=False)
PIN = Method("pin", OfCheckpoint, values.Checkpoint, repeatable=True)
UNPIN = Method("unpin", OfCheckpoint, values.Checkpoint, repeatable=True)
PRUNE = Method("prune", Prune, values.PruneResult, repeatable=False)
VERIFY = Method("verify", Verify, values.VerifyResult, repeatable=True)
MIGRATE = Method("migrate", Migrate, values.MigrateResult, repeatable=True)
MIRROR = Method("mirror", Mirror, values.Mirrored, repeatable=True)
EVENTS = Method("events", Events, values.EventPage, repeatable=True)
STOP = Method("stop", Stop, values.Done, repeatable=False)

# The same method, asked without `files`: its checkpoints carry a count instead of a list.
LIST_SUMMARIES = Method("list", List, values.SummaryPage, repeatable=True)


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """What `data` of an error says: the code for programs, the hint for people."""

    code: str
    hint: str = ""


class ErrorObject(msgspec.Struct, frozen=True, omit_defaults=True):
    """The `error` of an answer."""

    code: int
    message: str
    data: Problem | None = None


class Request(msgspec.Struct, frozen=True, omit_defaults=True):
    """One request. Every request has an id and gets an answer; parameters are given by name."""

    jsonrpc: str
    id: RequestId
    method: str
    params: msgspec.Raw = msgspec.Raw(b"{}")


class Response(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer: either `result` or `error`. The id is null where the request's could not be read."""

    jsonrpc: str
    id: RequestId | None
    result: msgspec.Raw = msgspec.Raw(b"")  # not in a union: msgspec would take nothing but null
    error: ErrorObject | None = None


class ConnectionFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """`daemon.json`: where the daemon listens, and which one it is. The keys are for tcp with CURVE."""

    protocol: int
    version: str
    pid: int
    epoch: str
    requests: str
    events: str
    server_key: str | None = None
    public_key: str | None = None
    secret_key: str | None = None


def encode_request(request: RequestId, method: str, params: Value) -> bytes:
    """A request as it goes over the wire."""
    raw = msgspec.Raw(msgspec.json.encode(params))
    return msgspec.json.encode(Request("2.0", request, method, raw))
