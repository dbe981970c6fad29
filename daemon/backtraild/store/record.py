"""A checkpoint as a commit object, so that the store can be understood from git alone.

The commit's message is the checkpoint's message, an empty line, and one last line of JSON that carries the
rest. JSON never contains a raw newline, so the last line is found whatever the message holds.
"""

import re
from collections.abc import Iterable, Sequence, ValuesView
from datetime import UTC, datetime
from itertools import accumulate, islice, takewhile
from typing import Annotated, Any

import msgspec
from msgspec import Struct

from backtrail.errors import StoreDamaged, UsageError
from backtrail.pathtext import from_text, to_text
from backtraild.model import Checkpoint, FileChange, Kind, ObjectId, Skipped, SkipReason, Status

MESSAGE_LIMIT = 256 * 1024
REQUEST_LIMIT = 200
RECORD_LIMIT = 4 * 1024 * 1024
LISTED_CHANGES = 1000  # a commit names this many changed and skipped files; longer lists are counted
LISTED_BYTES = 256 * 1024  # and no more than this of their paths: a thousand long ones would be too much
NESTING_LIMIT = 100
# Nothing that `encode` makes is longer: both limits are of characters, and a character has four bytes at most.
COMMIT_LIMIT = 4 * (RECORD_LIMIT + MESSAGE_LIMIT)
FORMAT = 1

_TRAILER = "Backtrail: "
AUTHOR = "Backtrail <backtrail@localhost>"
_NO_MESSAGE = "(no message)"
_CONTAINERS = (list, tuple, ValuesView)
_TREE_ID = re.compile(r"[0-9a-f]{40}")

# Whoever wrote the store may not have been Backtrail: numbers are those that SQLite and the wire can hold.
_Number = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Count = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_TreeId = Annotated[str, msgspec.Meta(pattern=f"^{_TREE_ID.pattern}$")]


class Draft(Struct, frozen=True):
    """Everything about a checkpoint that is known before it is stored."""

    kind: Kind
    message: str
    timestamp: datetime
    files_changed: Sequence[FileChange] = ()
    files_changed_count: int = 0
    insertions: int = 0
    deletions: int = 0
    skipped: Sequence[Skipped] = ()
    parent: int | None = None
    parent_tree: str | None = None
    session: str | None = None
    turn: int | None = None
    metadata: dict[str, Any] | None = None
    request: str | None = None


class _File(msgspec.Struct, array_like=True, omit_defaults=True):
    status: Status
    path: str
    size: _Count
    insertions: _Count | None = None
    deletions: _Count | None = None
    old_path: str | None = None


class _Left(msgspec.Struct, array_like=True):
    reason: SkipReason
    path: str
    size: _Count


class _Record(msgspec.Struct, omit_defaults=True):
    format: int
    number: _Count
    kind: Kind
    time: Annotated[datetime, msgspec.Meta(tz=True)]
    parent: _Count | None = None
    parent_tree: _TreeId | None = None
    changed: _Count = 0
    insertions: _Count = 0
    deletions: _Count = 0
    session: str | None = None
    turn: _Number | None = None
    metadata: dict[str, Any] = {}
    files: list[_File] = []
    skipped: list[_Left] = []
    request: str | None = None
    message: str | None = None  # only where the commit's own text had to differ from it


_decoder = msgspec.json.Decoder(_Record)


def check_message(message: str) -> None:
    """Refuse what a commit can't carry, before any work is done."""
    try:
        size = len(message.encode())
    except UnicodeEncodeError as error:
        raise UsageError("The message is not valid text: it contains half of a character.") from error
    if size > MESSAGE_LIMIT:
        raise UsageError(
            f"The message is {size:,} bytes long; at most {MESSAGE_LIMIT:,} are kept.",
            "Say it shorter, or put long texts into a file of the workspace.",
        )


def check_request(request: str) -> None:
    """Refuse an id that nobody could look for again."""
    if not (0 < len(request) <= REQUEST_LIMIT and request.isprintable()):
        raise UsageError(
            f"A request's id has 1 to {REQUEST_LIMIT} printable characters, and is not {request[:50]!a}.",
            "A UUID is a good one.",
        )


def encode(number: int, tree: ObjectId, draft: Draft) -> bytes:
    """The commit object's content. Raises UsageError where message or metadata can't be kept."""
    check_message(draft.message)
    _check_nesting(draft.metadata)
    text = draft.message.replace("\0", "\N{REPLACEMENT CHARACTER}") or _NO_MESSAGE
    record = _to_record(number, draft, None if text == draft.message else draft.message)
    try:
        line = msgspec.json.encode(record).decode()
    except (TypeError, ValueError) as error:
        raise UsageError(f"The metadata can't be written as JSON: {error}.") from error
    if len(line) > RECORD_LIMIT:
        raise UsageError(f"The metadata is too long: {len(line):,} bytes, at most {RECORD_LIMIT:,} are kept.")
    # To git, time begins in 1970; a clock that stands before that is told as it is by the record alone.
    stamp = f"{AUTHOR} {max(0, int(draft.timestamp.timestamp()))} +0000"
    header = f"tree {tree.hex()}\nauthor {stamp}\ncommitter {stamp}\n\n"
    return f"{header}{text}\n\n{_TRAILER}{line}\n".encode()


def decode(commit_id: str, content: bytes, pinned: bool) -> Checkpoint:
    """The checkpoint that a commit object describes."""
    try:
        tree, text, record = _taken_apart(content)
        timestamp = record.time.astimezone(UTC)
    except (ValueError, OverflowError, RecursionError, msgspec.DecodeError) as error:
        raise StoreDamaged(f"Commit {commit_id} in the store was not written by Backtrail.") from error
    if record.format > FORMAT:
        raise StoreDamaged(
            f"Commit {commit_id} was written by a newer Backtrail (format {record.format}).",
            "Upgrade Backtrail.",
        )
    return Checkpoint(
        number=record.number,
        id=commit_id,
        tree=tree,
        kind=record.kind,
        message=text if record.message is None else record.message,
        timestamp=timestamp,
        files_changed=tuple(map(_from_file, record.files)),
        files_changed_count=record.changed,
        insertions=record.insertions,
        deletions=record.deletions,
        skipped=tuple(Skipped(from_text(left.path), left.size, left.reason) for left in record.skipped),
        parent=record.parent,
        parent_tree=record.parent_tree,
        session=record.session,
        turn=record.turn,
        metadata=record.metadata,
        pinned=pinned,
        request=record.request,
    )


def _taken_apart(content: bytes) -> tuple[str, str, _Record]:
    """A commit's tree, its message and its record. Raises ValueError where one of them is not there."""
    if len(content) > COMMIT_LIMIT:
        raise ValueError("it is longer than any commit of Backtrail's")
    head, body = content.decode().split("\n\n", 1)
    text, line = body.removesuffix("\n").rsplit(f"\n\n{_TRAILER}", 1)
    tree = head.split("\n", 1)[0].removeprefix("tree ")
    if not _TREE_ID.fullmatch(tree):
        raise ValueError("it names no tree")
    return tree, text, _decoder.decode(line)


def _to_record(number: int, draft: Draft, message: str | None) -> _Record:
    files = _named(len(change.path) + len(change.old_path or b"") for change in draft.files_changed)
    skipped = _named(len(left.path) for left in draft.skipped)
    return _Record(
        format=FORMAT,
        number=number,
        kind=draft.kind,
        time=draft.timestamp.astimezone(UTC),
        parent=draft.parent,
        parent_tree=draft.parent_tree,
        changed=draft.files_changed_count,
        insertions=draft.insertions,
        deletions=draft.deletions,
        session=draft.session,
        turn=draft.turn,
        metadata=draft.metadata or {},
        files=[_to_file(change) for change in draft.files_changed[:files]],
        skipped=[_Left(left.reason, to_text(left.path), left.size) for left in draft.skipped[:skipped]],
        request=draft.request,
        message=message,
    )


def _check_nesting(metadata: dict[str, Any] | None) -> None:
    """Refuse what could be written, but perhaps not read again with a deeper stack."""
    level: list[Any] = [metadata]
    for _ in range(NESTING_LIMIT):
        folded = [value.values() if isinstance(value, dict) else value for value in level]
        level = [inner for value in folded if isinstance(value, _CONTAINERS) for inner in value]
        if not level:
            return
    raise UsageError(f"The metadata is nested deeper than {NESTING_LIMIT} levels.")


def _named(lengths: Iterable[int]) -> int:
    """How many of the paths of these lengths a commit names."""
    sums = accumulate(islice(lengths, LISTED_CHANGES))
    return sum(1 for _ in takewhile(lambda length: length <= LISTED_BYTES, sums))


def _to_file(change: FileChange) -> _File:
    old_path = None if change.old_path is None else to_text(change.old_path)
    path = to_text(change.path)
    return _File(change.status, path, change.size, change.insertions, change.deletions, old_path)


def _from_file(file: _File) -> FileChange:
    old_path = None if file.old_path is None else from_text(file.old_path)
    return FileChange(from_text(file.path), file.status, file.size, old_path, file.insertions, file.deletions)
