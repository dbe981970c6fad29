"""The values that the rest of the daemon passes around; nothing here touches a disk.

A path is `bytes`, relative to the workspace's root, `/`-separated, without a leading or trailing slash;
`b""` is the root itself. An object id is the 20 raw bytes; hexadecimal is for people and for git.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeAlias

from msgspec import Struct, field

FILE_MODE = 0o100644
EXECUTABLE_MODE = 0o100755
SYMLINK_MODE = 0o120000
TREE_MODE = 0o040000
BLOB_MODES = frozenset({FILE_MODE, EXECUTABLE_MODE, SYMLINK_MODE})

Path = bytes
ObjectId = bytes
Job: TypeAlias = str | int | None  # the id of the request on whose behalf something is done, if there is one

# Folders in which a restore prepares files: never captured, never taken for the user's.
STAGING_PREFIX = b".backtrail-restore-"


class Entry(NamedTuple):
    """What a checkpoint holds at one path: git's mode and the id of the content."""

    mode: int
    oid: ObjectId


class Change(NamedTuple):
    """One path before and after; `None` where there is nothing."""

    old: Entry | None
    new: Entry | None


# Which paths differ between two states, and how. The common currency of scan, diff, save and restore.
Changes = Mapping[Path, Change]


class Kind(StrEnum):
    """Why a checkpoint was made."""

    BASELINE = "baseline"
    AUTO = "auto"
    MANUAL = "manual"
    PRE_RESTORE = "pre_restore"
    RESTORE = "restore"
    AGENT = "agent"


class Status(StrEnum):
    """What happened to a file from one checkpoint to the next."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"
    MODE = "mode"


class SkipReason(StrEnum):
    """Why something in the workspace is not in the checkpoint."""

    TOO_LARGE = "too-large"
    SPECIAL_FILE = "special-file"
    UNREADABLE = "unreadable"
    CHANGING = "changing"
    RESERVED_NAME = "reserved-name"


class Skipped(Struct, frozen=True):
    """Something that was seen and not captured."""

    path: Path
    size: int
    reason: SkipReason


class FileChange(Struct, frozen=True):
    """One line of a checkpoint's list of changes. Line counts are None where lines make no sense."""

    path: Path
    status: Status
    size: int
    old_path: Path | None = None
    insertions: int | None = None
    deletions: int | None = None


class Checkpoint(Struct, frozen=True):
    """A recorded state of the workspace."""

    number: int
    id: str
    tree: str
    kind: Kind
    message: str
    timestamp: datetime
    files_changed: tuple[FileChange, ...]
    files_changed_count: int
    insertions: int
    deletions: int
    skipped: tuple[Skipped, ...] = ()
    parent: int | None = None
    parent_tree: str | None = None
    session: str | None = None
    turn: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    pinned: bool = False
    request: str | None = None
    # The content hash of what was said up to then, where somebody looked it up.
    conversation: str | None = None
    conversation_error: str | None = None  # why that could not be recorded with it

    @property
    def files_changed_complete(self) -> bool:
        """False where the commit carries only the first of a very long list of changes."""
        return len(self.files_changed) == self.files_changed_count


class Limits(Struct, frozen=True):
    """What a workspace may hold before Backtrail leaves things out or asks."""

    max_file_size: int = 50 * 1024 * 1024
    max_files: int = 200_000
    max_bytes: int = 20 * 1024 * 1024 * 1024


class WorkspaceConfig(Struct, frozen=True):
    """What a workspace's owner decided."""

    auto_checkpoint: bool = True
    max_checkpoints: int = 10_000
    exclude_patterns: tuple[str, ...] = ()
    quiet: float = 0.5
    patience: float = 10.0
    limits: Limits = Limits()
    watcher: str = "auto"
    max_store_bytes: int = 20 * 1024 * 1024 * 1024
    min_free_bytes: int | None = None  # None follows the size of the disk


class Intent(Struct, frozen=True):
    """Why a checkpoint is wanted. Without a message, it says what changed, and under which circumstance.

    A request is the asker's own name for having asked: asked again under the same one, nothing is done twice.
    """

    kind: Kind = Kind.MANUAL
    message: str | None = None
    session: str | None = None
    turn: int | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    circumstance: str = ""
    request: str | None = None


class Diff(Struct, frozen=True):
    """How two states differ; `to_id` is None where the second one is the disk."""

    from_id: str
    to_id: str | None
    files: tuple[FileChange, ...]
    insertions: int
    deletions: int
    text: str


class Event(Struct, frozen=True):
    """Something that happened, as it stands in the log and goes to subscribers."""

    epoch: str
    seq: int
    type: str
    workspace: str
    root: str
    timestamp: datetime
    checkpoint: int | None = None
    session: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


class Progress(Struct, frozen=True):
    """How far long work is: "looking" at files, or "writing" them. The total is None where nobody knows it.

    `job` is the request on whose behalf it is done; None for work of the daemon's own accord.
    """

    workspace: str
    root: str
    job: Job
    phase: str
    done: int
    total: int | None


class Blobs(Protocol):
    """Where content comes from when it is needed again."""

    def size(self, oid: ObjectId) -> int:
        """Length of the content in bytes. Raises StoreDamaged if it is missing."""
        ...

    def chunks(self, oid: ObjectId) -> Iterator[bytes]:
        """The content, piece by piece; raises StoreDamaged, at the latest in place of the end, unless every
        byte is what was stored."""
        ...


def is_below(path: Path, folder: Path) -> bool:
    """Does a path lie somewhere inside a folder? Not if it is the folder itself."""
    return path != folder and (not folder or path.startswith(folder + b"/"))


class ContentMoved(Exception):
    """A file gave other bytes the second time it was read."""


class Placed(NamedTuple):
    """A file that was written where nobody else writes, and then moved to its place in the workspace."""

    oid: ObjectId
    inode: int
    size: int
    mtime_ns: int
    moved_after: int  # times of the clock, around the move
    moved_before: int


class Packed(NamedTuple):
    """An object as it stands in a pack, and what is said of it elsewhere."""

    oid: ObjectId
    size: int
    lines: int | None  # None for what has none, or was not counted
    checksum: int
    content: bytes


class BlobSink(Protocol):
    """Where content goes when it is captured."""

    def has_blob(self, oid: ObjectId) -> bool:
        """Is this content here already, and will it stay?"""
        ...

    def add_blob(self, content: bytes) -> ObjectId:
        """Take content that is in memory."""
        ...

    def add_packed(self, packed: Packed) -> None:
        """Take content that somebody else has hashed and deflated."""
        ...

    def add_blob_stream(self, size: int, read: Callable[[], Iterator[bytes]]) -> ObjectId:
        """Take content too large for memory; `read` starts from the beginning each time it is called.

        Raises ContentMoved if two readings differ or are not `size` bytes long.
        """
        ...


def split_path(path: Path) -> tuple[Path, bytes]:
    """A path's folder and its name in it."""
    folder, _, name = path.rpartition(b"/")
    return folder, name


def join_path(folder: Path, name: bytes) -> Path:
    """The path of a name in a folder."""
    return folder + b"/" + name if folder else name


_HFS_IGNORED = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF],
)


def is_dot_git(name: bytes) -> bool:
    """Would some file system take this name for `.git`? Git refuses to track such names, and so do we.

    Case-insensitive file systems fold `.GIT`; HFS+ drops zero-width characters; NTFS knows `git~1`, ignores
    trailing dots and spaces, and takes what follows a colon for a stream.
    """
    if name == b".git":
        return True
    if not name.startswith((b".", b"g", b"G")) and name[:1] not in b"\xe2\xef":
        return False
    text = name.decode("utf-8", "surrogateescape").translate(_HFS_IGNORED).lower()
    stem = text.split(":")[0].split("\\")[0].rstrip(". ")
    return stem in (".git", "git~1")
