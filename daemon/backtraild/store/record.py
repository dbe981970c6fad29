"""A checkpoint as a commit object, so that the store can be understood from git alone.

The commit's message is the checkpoint's message, an empty line, and one last line of JSON that carries the
rest. JSON never contains a raw newline, so the last line is found whatever the message holds.
"""

from collections.abc import Iterable, Sequence, ValuesView
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, islice, takewhile
from typing import Any

import msgspec

from backtrail.errors import StoreDamaged, UsageError
from backtrail.pathtext import from_text, to_text
from backtraild.model import Checkpoint, FileChange, Kind, ObjectId, Skipped, SkipReason, Status

MESSAGE_LIMIT = 256 * 1024
REQUEST_LIMIT = 200
RECORD_LIMIT = 4 * 1024 * 1024
LISTED_CHANGES = 1000  # a commit names this many changed and skipped files; longer lists are counted
LISTED_BYTES = 256 * 1024  # and no more than this of their paths: a thousand long ones would be too much
NESTING_LIMIT = 100
FORMAT = 1

_TRAILER = "Backtrail: "
AUTHOR = "Backtrail <backtrail@localhost>"
_NO_MESSAGE = "(no message)"
_CONTAINERS = (list, tuple, ValuesView)


@dataclass(frozen=True, slots=True)
class Draft:
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
    size: int
    insertions: int | None = None
    deletions: int | None = None
    old_path: str | None = None


class _Left(msgspec.Struct, array_like=True):
    reason: SkipReason
    path: str
    size: int


class _Record(msgspec.Struct, omit_defaults=True):
    format: int
    number: int
    kind: Kind
    time: datetime
    parent: int | None = None
    parent_tree: str | None = None
    changed: int = 0
    insertions: int = 0
    deletions: int = 0
    session: str | None = None
    turn: int | None = None
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
    stamp = f"{AUTHOR} {int(draft.timestamp.timestamp())} +0000"
    header = f"tree {tree.hex()}\nauthor {stamp}\ncommitter {stamp}\n\n"
    return f"{header}{text}\n\n{_TRAILER}{line}\n".encode()


def decode(commit_id: str, content: bytes, pinned: bool) -> Checkpoint:
    """The checkpoint that a commit object describes."""
    try:
        head, body = content.decode().split("\n\n", 1)
        text, line = body.removesuffix("\n").rsplit(f"\n\n{_TRAILER}", 1)
        record = _decoder.decode(line)
        tree = head.split("\n", 1)[0].removeprefix("tree ")
    except (ValueError, msgspec.DecodeError) as error:
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
        timestamp=record.time,
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
