"""Reading the timeline: events from the log, and from the store the files that checkpoints changed."""

from collections.abc import Iterator

from msgspec.structs import replace

from backtrail.errors import StoreDamaged, UnknownCheckpoint
from backtraild import timeline
from backtraild.model import Checkpoint, Event, FileChange
from backtraild.state import EventLog, EventQuery
from backtraild.timeline import HistoryEvent, HistoryType, Timeline, TimelineQuery
from backtraild.workspace import History


def needs_store(query: TimelineQuery) -> bool:
    """Can the log alone not answer this?"""
    return query.wants_files or query.path is not None


def from_log(log: EventLog, workspace: str, query: TimelineQuery) -> Timeline:
    """A page of what needs no store. May be called in any thread."""
    timeline.check(query)
    lines = ([timeline.of_event(event)] for event in _events(log, workspace, query))
    return replace(timeline.page(lines, query.limit), first=log.first)


def from_store(log: EventLog, workspace: str, history: History, query: TimelineQuery) -> Timeline:
    """A page with files or of a path, in the thread that the store belongs to.

    A checkpoint that has been deleted has no files any more; one that changed more than a thousand of them tells the
    first thousand, unless it is asked for a path.
    """
    timeline.check(query)
    pairs = _of_path if query.path is not None else _of_all
    lines = (
        [*_of_checkpoint(event, query), *_of_files(event, checkpoint, history, query)]
        for event, checkpoint in pairs(log, workspace, history, query)
    )
    return replace(timeline.page(lines, query.limit), first=log.first)


def _events(log: EventLog, workspace: str, query: TimelineQuery) -> Iterator[Event]:
    """All that the query asks for, read as somebody wants more."""
    asked = _asked(workspace, query)
    while asked.types and (events := log.find(asked)):
        yield from events
        asked = replace(asked, after=events[-1].seq)


def _of_all(
    log: EventLog, workspace: str, history: History, query: TimelineQuery
) -> Iterator[tuple[Event, Checkpoint]]:
    for event in _events(log, workspace, query):
        checkpoint = _checkpoint_of(event, history)
        if checkpoint is not None:
            yield event, checkpoint


def _of_path(
    log: EventLog, workspace: str, history: History, query: TimelineQuery
) -> Iterator[tuple[Event, Checkpoint]]:
    """Checkpoints that changed a path, each with its event: they have been told in the order of their numbers."""
    asked = _asked(workspace, query)
    first = next(_events(log, workspace, replace(query, limit=1)), None)
    if first is None or first.checkpoint is None:
        return
    for checkpoint in history.touching(query.path or b"", first.checkpoint):
        for event in log.find(replace(asked, checkpoint=checkpoint.number)):
            if event.data.get("id") == checkpoint.id:
                yield event, checkpoint


def _asked(workspace: str, query: TimelineQuery) -> EventQuery:
    return EventQuery(
        workspace=workspace,
        types=query.events,
        after=query.cursor,
        limit=query.limit + 1,  # one more tells whether there is a next page
        session=query.session,
        phase=query.phase,
        since=query.since,
        until=query.until,
    )


def _checkpoint_of(event: Event, history: History) -> Checkpoint | None:
    """The checkpoint that an event tells of; None if it is gone, be its number in use again or not."""
    try:
        checkpoint = history.find(str(event.checkpoint))
    except (UnknownCheckpoint, StoreDamaged):
        return None
    return checkpoint if checkpoint.id == event.data.get("id") else None


def _of_checkpoint(event: Event, query: TimelineQuery) -> list[HistoryEvent]:
    return [] if query.type is HistoryType.FILE else [timeline.of_event(event)]


def _of_files(
    event: Event, checkpoint: Checkpoint, history: History, query: TimelineQuery
) -> Iterator[HistoryEvent]:
    changes: tuple[FileChange, ...] = ()
    if query.wants_files:
        path = query.path
        changes = checkpoint.files_changed if path is None else history.changed(checkpoint, path)
    return timeline.of_files(event, checkpoint, changes)
