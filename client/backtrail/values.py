"""What the daemon answers with, as typed values: their fields are those of the JSON.

Times are in UTC. Paths are relative to the workspace's root and written as `pathtext` writes them.
"""

from datetime import datetime
from typing import Any

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Unknown fields are ignored; a field that has a default is left out where it has nothing to say."""


class FileChange(Value, frozen=True, kw_only=True):
    """One file of a checkpoint's list of changes; line counts are None where lines make no sense."""

    path: str
    status: str  # added, modified, deleted, renamed or mode
    size: int
    old_path: str | None = None
    insertions: int | None = None
    deletions: int | None = None

    def __str__(self) -> str:
        return self.path


class SkippedFile(Value, frozen=True, kw_only=True):
    """A file that was seen and not captured."""

    path: str
    size: int
    reason: str


class Conflict(Value, frozen=True, kw_only=True):
    """A path that a restore leaves alone, and why."""

    path: str
    reason: str


class Followed(Value, frozen=True, kw_only=True):
    """What was done, or would be, in a workspace that a session follows; where it failed, `error` says why.

    `checkpoint` is the state before a turn, after it, or the one to which a rewind leads.
    """

    workspace: str
    root: str | None
    checkpoint: int | None = None
    written: list[str] = []
    deleted: list[str] = []
    conflicts: list[Conflict] = []
    error: str | None = None


class _Checkpoint(Value, frozen=True, kw_only=True):
    number: int
    id: str
    tree: str
    kind: str  # baseline, auto, manual, pre_restore, restore or agent
    message: str
    timestamp: datetime
    files_changed_count: int
    insertions: int
    deletions: int
    metadata: dict[str, Any]
    skipped: list[SkippedFile]
    pinned: bool
    parent: int | None
    session: str | None = None
    turn: int | None = None
    conversation: str | None = None  # the content hash of what was said up to then
    conversation_error: str | None = None  # why that could not be recorded; it can be attached later


class Checkpoint(_Checkpoint, frozen=True, kw_only=True):
    """A recorded state of the workspace; `also` is what was saved in workspaces that its session follows."""

    files_changed: list[FileChange]
    also: list[Followed] = []


class CheckpointSummary(_Checkpoint, frozen=True, kw_only=True):
    """A checkpoint without the list of its changes: `files_changed` is how many there are."""

    files_changed: int


class CheckpointPage(Value, frozen=True, kw_only=True):
    """Some checkpoints, newest first; `next` is the cursor of the next page where there is one."""

    checkpoints: list[Checkpoint]
    next: int | None = None


class SummaryPage(Value, frozen=True, kw_only=True):
    """The same without the lists of changes."""

    checkpoints: list[CheckpointSummary]
    next: int | None = None


class RenamedFile(Value, frozen=True, kw_only=True):
    """A file that has another path now."""

    old_path: str
    path: str


class CheckpointDiff(Value, frozen=True, kw_only=True):
    """How two checkpoints differ; `to_id` is None where the second one is the workspace as it is now."""

    from_id: str
    to_id: str | None
    added_files: list[str]
    modified_files: list[str]
    deleted_files: list[str]
    renamed_files: list[RenamedFile]
    insertions: int
    deletions: int
    diff_content: str
    files: list[FileChange]


class FolderEntry(Value, frozen=True, kw_only=True):
    """What a folder of a checkpoint holds under one name."""

    name: str
    kind: str  # file, executable, symlink or folder


class Content(Value, frozen=True, kw_only=True):
    """A piece of a file of a checkpoint, or the names in a folder of it."""

    path: str
    kind: str  # file, executable, symlink or folder
    size: int
    offset: int = 0
    content_base64: str = ""
    entries: list[FolderEntry] = []


class RestoreResult(Value, frozen=True, kw_only=True):
    """What a restore did, or would do; `result` is the checkpoint of the state afterwards."""

    checkpoint: CheckpointSummary
    safety_checkpoint: CheckpointSummary | None
    written: list[str]
    deleted: list[str]
    unchanged: int
    conflicts: list[Conflict]
    dry_run: bool
    result: CheckpointSummary | None = None


class DeletedCheckpoints(Value, frozen=True, kw_only=True):
    """The checkpoints that are gone."""

    deleted: list[CheckpointSummary]


class PrunedCheckpoint(Value, frozen=True, kw_only=True):
    """One that retention lets go, and why."""

    number: int
    reason: str


class PruneResult(Value, frozen=True, kw_only=True):
    """What retention let go, or would let go, and which checkpoints stay for which reasons.

    `excess` is how many more are protected than `max_checkpoints` allows.
    """

    dropped: list[PrunedCheckpoint]
    kept: int
    kept_reasons: dict[str, int]
    dry_run: bool
    kept_numbers: dict[str, list[int]] = {}
    excess: int = 0


class Damage(Value, frozen=True, kw_only=True):
    """Something in a store that is not as it was stored, and the checkpoints that need it."""

    checkpoints: list[int]
    problem: str
    path: str | None = None


class VerifyResult(Value, frozen=True, kw_only=True):
    """What a look at every byte of a store found.

    `whole` can be restored. `healed` are those of them that `damage` names, and that are whole again because what
    they lacked was stored again from the folder.
    """

    workspace: str
    checkpoints: int
    objects: int
    bytes: int
    whole: list[int]
    damage: list[Damage]
    healed: list[int] = []


class StoreVersion(Value, frozen=True, kw_only=True):
    """A store, the version its format had, and the one it has now."""

    store: str
    before: int
    now: int


class MigrateResult(Value, frozen=True, kw_only=True):
    """Every store there is; those whose version changed were brought up to date."""

    stores: list[StoreVersion]


class Mirrored(Value, frozen=True, kw_only=True):
    """The refs that were written to a remote, or would be; `up_to_date` is how many it had already."""

    remote: str
    new: list[str]
    updated: list[str]
    deleted: list[str]
    up_to_date: int
    dry_run: bool


class WorkspaceInfo(Value, frozen=True, kw_only=True):
    """A watched folder, as `workspaces` lists it."""

    workspace: str
    root: str
    state: str
    paused: bool
    checkpoints: int
    store: str


class WorkspaceList(Value, frozen=True, kw_only=True):
    """All watched folders."""

    workspaces: list[WorkspaceInfo]


class WorkspaceStatus(Value, frozen=True, kw_only=True):
    """How a watched folder is doing."""

    workspace: str
    root: str
    state: str  # watching, scanning, paused or degraded
    reasons: list[str]
    files: int
    bytes: int
    pending: int
    last_checkpoint: CheckpointSummary | None
    store_bytes: int
    store: str
    checkpoints: int
    skipped: list[SkippedFile]  # the first of them
    skipped_count: int
    watcher: str
    overlaps: list[str]
    max_store_bytes: int = 0  # of a daemon that does not know these yet, 0
    free_bytes: int = 0  # on the disk that holds the store
    min_free_bytes: int = 0  # with less than that free, nothing is saved
    notices: list[str] = []  # damage that has been dealt with, and what is left of it


class Watched(Value, frozen=True, kw_only=True):
    """A folder that is watched from now on; `checkpoint` is its newest, once there is one."""

    workspace: str
    root: str
    is_new: bool
    overlaps: list[str]
    checkpoint: CheckpointSummary | None


class Unwatched(Value, frozen=True, kw_only=True):
    """A folder that is watched no more; `store` is where its checkpoints are, None if they were deleted."""

    workspace: str
    root: str
    store: str | None


class CheckpointEvent(Value, frozen=True, kw_only=True):
    """Something that happened. `seq` counts up without holes, except that `progress` repeats the last one.

    In a stream, one of the type `events_missing` stands for numbers that the log does not have any more.
    """

    epoch: str
    seq: int
    type: str
    workspace: str
    root: str
    timestamp: datetime
    data: dict[str, Any]
    checkpoint: int | None = None
    session: str | None = None


class EventPage(Value, frozen=True, kw_only=True):
    """Events after a number, oldest first; there are more as long as the last one is before `newest`.

    Those before `first` are not kept any more.
    """

    events: list[CheckpointEvent]
    newest: int
    epoch: str
    first: int = 1


class Heartbeat(Value, frozen=True, kw_only=True):
    """Sent to subscribers from time to time: the daemon lives, and this is the last event."""

    epoch: str
    seq: int


class Pong(Value, frozen=True, kw_only=True):
    """Which daemon answers."""

    version: str
    protocol: int
    pid: int
    epoch: str
    seq: int
    started: datetime


class Done(Value, frozen=True, kw_only=True):
    """It is done, and there is nothing more to say."""


class CheckpointConfig(Value, frozen=True, kw_only=True):
    """What the owner of a workspace decides; None leaves a setting to the daemon's configuration file."""

    auto_checkpoint: bool = True
    max_checkpoints: int = 100
    exclude_patterns: list[str] = []
    quiet: float | None = None
    patience: float | None = None
    max_file_size: int | None = None
    max_files: int | None = None
    max_bytes: int | None = None
    max_store_bytes: int | None = None
    min_free_bytes: int | None = None
    watcher: str | None = None
