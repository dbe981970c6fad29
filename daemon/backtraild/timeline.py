"""The timeline: events and the files of checkpoints as one list of what happened. Pure: values in, values out."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct, field

from backtrail.errors import UsageError
from backtrail.pathtext import to_text
from backtraild.model import Checkpoint, Event, FileChange, Path

LARGEST_PAGE = 1000


class HistoryType(StrEnum):
    """What a line of the timeline is about."""

    TASK = "task"
    CHAT = "chat"
    CHECKPOINT = "checkpoint"
    PHASE = "phase"
    FILE = "file"


MADE = ("checkpoint_created", "checkpoint_restored")  # those that changed files

_EVENTS = {
    HistoryType.TASK: (
        "session_started",
        "session_updated",
        "session_ended",
        "session_forked",
        "session_resumed",
        "session_deleted",
    ),
    HistoryType.CHAT: (
        "turn_started",
        "turn_ended",
        "tool_used",
        "conversation_saved",
        "conversation_rewound",
    ),
    HistoryType.CHECKPOINT: (*MADE, "checkpoint_deleted", "checkpoints_pruned"),
    HistoryType.PHASE: ("phase_changed",),
}
_TYPES = {name: kind for kind, names in _EVENTS.items() for name in names}


class TimelineQuery(Struct, frozen=True):
    """What of the timeline is wanted; an unset field asks for nothing. Oldest first, after the event `cursor`.

    With a path, only checkpoints and files are wanted that changed it, or something in it; without one, files are
    wanted only where their type is asked for.
    """

    type: HistoryType | None = None
    session: str | None = None
    phase: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    path: Path | None = None
    cursor: int = 0
    limit: int = 100

    @property
    def wants_files(self) -> bool:
        """Do lines about files belong to the answer?"""
        return self.type is HistoryType.FILE or (self.type is None and self.path is not None)

    @property
    def events(self) -> tuple[str, ...]:
        """The types of the events that the answer is made from."""
        if self.path is not None:
            return MADE if self.type in (None, HistoryType.CHECKPOINT, HistoryType.FILE) else ()
        if self.type is HistoryType.FILE:
            return MADE
        return tuple(_TYPES) if self.type is None else _EVENTS[self.type]


class HistoryEvent(Struct, frozen=True):
    """One line of the timeline. `subtype` is the type of its event, or what became of a file."""

    seq: int
    type: HistoryType
    subtype: str
    time: datetime
    data: dict[str, Any] = field(default_factory=dict)
    phase: str | None = None
    session: str | None = None
    turn: int | None = None
    checkpoint: int | None = None
    path: Path | None = None


class Timeline(Struct, frozen=True):
    """Some lines, oldest first; `next` is the cursor of the next page where there are more.

    The log has no events before the number `first` any more.
    """

    events: tuple[HistoryEvent, ...]
    next: int | None
    first: int = 1


def check(query: TimelineQuery) -> None:
    """Refuse a page that makes no sense."""
    if not 1 <= query.limit <= LARGEST_PAGE:
        raise UsageError(f"A page of {query.limit} events makes no sense.", f"Ask for 1 to {LARGEST_PAGE:,}.")
    if query.cursor < 0:
        raise UsageError(f"{query.cursor} is not where a page ended.", "Give `next` of the page before.")


def of_event(event: Event) -> HistoryEvent:
    """The line of an event."""
    return HistoryEvent(
        seq=event.seq,
        type=_TYPES[event.type],
        subtype=event.type,
        time=event.timestamp,
        data=dict(event.data),
        phase=_text(event.data.get("phase")),
        session=event.session,
        turn=_number(event.data.get("turn")),
        checkpoint=event.checkpoint,
    )


def of_files(event: Event, checkpoint: Checkpoint, changes: Iterable[FileChange]) -> Iterator[HistoryEvent]:
    """The lines of the files that a checkpoint changed."""
    for change in changes:
        yield HistoryEvent(
            seq=event.seq,
            type=HistoryType.FILE,
            subtype=change.status.value,
            time=event.timestamp,
            data=_told(checkpoint, change),
            phase=_text(event.data.get("phase")),
            session=checkpoint.session,
            turn=checkpoint.turn,
            checkpoint=checkpoint.number,
            path=change.path,
        )


def page(lines: Iterable[Sequence[HistoryEvent]], limit: int) -> Timeline:
    """The first lines. Those of one event are not torn apart, so that a page may be longer if one has very many."""
    found: list[HistoryEvent] = []
    for of_one in lines:
        if found and len(found) + len(of_one) > limit and of_one:
            return Timeline(tuple(found), found[-1].seq)
        found += of_one
    return Timeline(tuple(found), None)


def _told(checkpoint: Checkpoint, change: FileChange) -> dict[str, Any]:
    old = {} if change.old_path is None else {"old_path": to_text(change.old_path)}
    counts = {"insertions": change.insertions, "deletions": change.deletions}
    return {"kind": checkpoint.kind.value, "size": change.size, **old, **counts}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
