"""What the daemon knows of sessions and of the past, as the values of the wire. Pure."""

from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from backtrail import session_values as values
from backtrail.pathtext import to_text
from backtrail.values import Conflict
from backtraild.conversing import (
    BlamedLine,
    DeletedSession,
    Excerpt,
    LoggedVersion,
    LogPage,
    Restoration,
    Resumption,
    RewindResult,
    SessionView,
)
from backtraild.model import Path
from backtraild.server import convert, messages
from backtraild.sessions import Hit, HitPage, Session, SessionPage, Snapshot, ToolCall, Turn
from backtraild.timeline import HistoryEvent, Timeline

CHANGED_BY_OTHERS = "others changed it, too"


def summary(found: Session) -> values.SessionSummary:
    """A session without its turns."""
    return values.SessionSummary(**_facts(found))


def page(found: SessionPage) -> values.SessionPage:
    """Some sessions."""
    return values.SessionPage(sessions=[summary(each) for each in found.sessions], next=found.next)


def session(found: SessionView) -> values.Session:
    """A session with its turns and snapshots."""
    counts = {each.number: each.message_count for each in found.snapshots}
    return values.Session(
        **_facts(found.session),
        turns=[turn(each, counts) for each in found.turns],
        snapshots=[snapshot(each) for each in found.snapshots],
    )


def turn(found: Turn, counts: Mapping[int, int]) -> values.Turn:
    """A turn; `counts` says how many messages each snapshot holds."""
    return values.Turn(
        turn=found.number,
        ordinal=found.ordinal,
        role=found.role,
        prompt=found.prompt,
        started=found.started,
        ended=found.ended,
        tools=[_tool(each) for each in found.tools],
        before=found.before,
        after=found.after,
        rewound=found.rewound,
        interrupted=found.interrupted,
        messages=None if found.snapshot is None else counts.get(found.snapshot),
        metadata=dict(found.metadata),
    )


def snapshot(found: Snapshot) -> values.ConversationSnapshot:
    """A conversation at one moment."""
    return values.ConversationSnapshot(
        number=found.number,
        generation=found.generation,
        type=found.type.value,
        message_count=found.message_count,
        bytes=found.bytes,
        content_hash=found.content_hash,
        created=found.created,
        redacted=dict(found.redacted),
        metadata=dict(found.metadata),
        turn=found.turn,
        checkpoint=found.checkpoint,
        incomplete=found.incomplete,
    )


def deleted(found: DeletedSession) -> values.DeletedSession:
    """A session that is gone."""
    return values.DeletedSession(session=found.session, checkpoints=list(found.checkpoints))


def excerpt(name: str, found: Excerpt) -> values.Messages:
    """A page of a conversation."""
    return values.Messages(
        session=name,
        snapshot=found.snapshot,
        start=found.start,
        message_count=found.message_count,
        messages=_said(found),
    )


def rewound(found: RewindResult) -> values.RewindResult:
    """What a rewind did, or would do."""
    restorations = found.restorations
    return values.RewindResult(
        session=found.session,
        turn=found.turn,
        scope=found.scope.value,
        checkpoint=convert.summary_of(found.checkpoint),
        safety_checkpoint=convert.summary_of(found.safety_checkpoint),
        result=convert.summary_of(found.result),
        requires_confirmation=found.requires_confirmation,
        plan=found.plan,
        written=_paths(found.written),
        deleted=_paths(found.deleted),
        unchanged=found.unchanged,
        conflicts=convert.conflicts(found.conflicts),
        turns_rewound=list(found.turns_rewound),
        messages_removed=found.messages_removed,
        message_count=found.conversation.message_count,
        conversation=_said(found.conversation),
        prompt=found.prompt,
        session_conflicts=[
            Conflict(path=to_text(path), reason=CHANGED_BY_OTHERS) for path in found.session_conflicts
        ],
        restorations=None if restorations is None else [_restoration(each) for each in restorations],
    )


def resumed(found: Resumption) -> values.Resumption:
    """All that is needed to go on."""
    counts = {each.number: each.message_count for each in found.view.snapshots}
    return values.Resumption(
        session=session(found.view),
        last_turn=None if found.last_turn is None else turn(found.last_turn, counts),
        interrupted=found.interrupted,
        checkpoint=convert.summary_of(found.checkpoint),
        added_files=_paths(found.added),
        modified_files=_paths(found.modified),
        deleted_files=_paths(found.deleted),
        message_count=found.conversation.message_count,
        conversation=_said(found.conversation),
    )


def log(path: Path, found: LogPage) -> values.FileHistory:
    """The versions of a file."""
    versions = [_version(each) for each in found.versions]
    return values.FileHistory(path=to_text(path), versions=versions, next=found.next)


def blame(path: Path, found: Iterable[BlamedLine]) -> values.Blame:
    """A file, line by line."""
    lines = [_line(number, each) for number, each in enumerate(found, 1)]
    return values.Blame(path=to_text(path), lines=lines)


def hits(found: HitPage) -> values.SearchResult:
    """What was found."""
    return values.SearchResult(hits=[_hit(each) for each in found.hits], next=found.next)


def timeline(found: Timeline) -> values.Timeline:
    """What happened."""
    return values.Timeline(
        events=[_happened(each) for each in found.events], next=found.next, first=found.first
    )


def _facts(found: Session) -> dict[str, Any]:
    return {
        "session": found.id,
        "agent": found.agent,
        "title": found.title,
        "phase": found.phase,
        "status": found.status.value,
        "parent": found.parent,
        "forked_from": found.forked_from,
        "forked_at": found.forked_at,
        "created": found.created,
        "updated": found.updated,
        "turn_count": found.turn_count,
        "metadata": dict(found.metadata),
        "follows": list(found.follows),
    }


def _tool(found: ToolCall) -> values.ToolUse:
    return values.ToolUse(
        name=found.name, id=found.id, input=found.input, started=found.started, ended=found.ended
    )


def _restoration(found: Restoration) -> values.Restoration:
    content = b64encode(found.content or b"").decode()
    return values.Restoration(path=to_text(found.path), deleted=found.content is None, content_base64=content)


def _version(found: LoggedVersion) -> values.FileVersion:
    version, author = found.version, found.author
    checkpoint = version.checkpoint
    return values.FileVersion(
        checkpoint=checkpoint.number,
        id=checkpoint.id,
        timestamp=checkpoint.timestamp,
        kind=checkpoint.kind.value,
        message=checkpoint.message,
        path=to_text(version.path),
        status=version.status.value,
        size=version.size,
        insertions=version.insertions,
        deletions=version.deletions,
        old_path=None if version.old_path is None else to_text(version.old_path),
        session=checkpoint.session if author is None else author.session,
        turn=checkpoint.turn if author is None else author.turn,
        prompt=None if author is None else author.prompt,
    )


def _line(number: int, found: BlamedLine) -> values.BlamedLine:
    origin, author = found.line.origin, found.author
    return values.BlamedLine(
        line=number,
        text=found.line.text,
        checkpoint=None if origin is None else origin.checkpoint,
        timestamp=None if origin is None else origin.timestamp,
        session=None if author is None else author.session,
        turn=None if author is None else author.turn,
    )


def _hit(found: Hit) -> values.SearchHit:
    return values.SearchHit(
        found=found.found.value,
        time=found.time,
        snippet=found.snippet,
        marks=list(found.marks),
        session=found.session,
        turn=found.turn,
        message=found.message,
        role=found.role,
        checkpoint=found.checkpoint,
        path=None if found.path is None else to_text(found.path),
        rewound=found.rewound,
    )


def _happened(found: HistoryEvent) -> values.HistoryEvent:
    return values.HistoryEvent(
        seq=found.seq,
        type=found.type.value,
        subtype=found.subtype,
        time=found.time,
        data=dict(found.data),
        phase=found.phase,
        session=found.session,
        turn=found.turn,
        checkpoint=found.checkpoint,
        path=None if found.path is None else to_text(found.path),
    )


def _said(found: Excerpt) -> list[msgspec.Raw]:
    return [messages.shown(line) for line in found.lines]


def _paths(found: Iterable[Path]) -> list[str]:
    return [to_text(path) for path in found]
