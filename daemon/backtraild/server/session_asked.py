"""What a request about sessions asks for, in the daemon's own values; what makes no sense is refused here."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeVar

import msgspec

from backtrail import protocol
from backtrail import session_protocol as wire
from backtrail.errors import UsageError
from backtraild import naming
from backtraild.conversing import Talk
from backtraild.server import asked
from backtraild.sessions import ToolCall
from backtraild.timeline import HistoryType, TimelineQuery
from backtraild.transcripts import Lines, Source, TranscriptFile
from backtraild.workspace import Rewind, Scope

_Choice = TypeVar("_Choice", bound=StrEnum)


def talk(params: protocol.Save) -> Talk:
    """What is told about the turn that a save ends."""
    return Talk(
        conversation=None if params.conversation is None else source(params.conversation),
        prompt=params.prompt,
        role=params.role,
        tools=tuple(call(tool) for tool in params.tools),
        agent=params.agent,
        title=params.title,
        phase=params.phase,
    )


def source(given: protocol.Conversation) -> Source:
    """Where a conversation is to be taken from."""
    if sum(way is not None for way in (given.messages, given.content, given.path)) != 1:
        raise UsageError(
            "A conversation is given as `messages`, as `content` or as a `path`: as one of these."
        )
    if given.path is not None:
        return TranscriptFile(asked.folder(given.path))
    if given.content is not None:
        return Lines(given.content.encode("utf-8", "replace"))
    return Lines(_array(given.messages or []))


def call(tool: protocol.Tool) -> ToolCall:
    """A tool's use."""
    return ToolCall(tool.name, tool.id, tool.input, _utc(tool.started), _utc(tool.ended))


def choice(kind: type[_Choice], name: str, given: str) -> _Choice:
    """One of a few words."""
    try:
        return kind(given)
    except ValueError:
        raise UsageError(f"`{name}` can't be {given[:50]!r}.", f"It is one of {', '.join(kind)}.") from None


def limit(given: int, most: int = protocol.MAX_LIST) -> int:
    """How much a page may hold."""
    return min(asked.count("limit", given, least=1), most)


def rewind(params: wire.Rewind) -> Rewind:
    """Where to go back to."""
    if (params.to_turn is None) == (params.before_turn is None):
        raise UsageError("A rewind goes `to_turn` or `before_turn`: to one of these.")
    before = params.to_turn is None
    turn = params.before_turn if params.to_turn is None else params.to_turn
    return Rewind(
        session=params.session,
        turn=asked.count("before_turn" if before else "to_turn", turn or 0),
        before=before,
        scope=choice(Scope, "scope", params.scope),
        only_session=params.only_session,
    )


def timeline(params: wire.AskTimeline, root: str) -> TimelineQuery:
    """What of the timeline is wanted."""
    now = datetime.now(UTC)
    return TimelineQuery(
        type=None if params.type is None else choice(HistoryType, "type", params.type),
        session=params.session,
        phase=params.phase,
        since=None if params.since is None else naming.parse_time(params.since, now, last=False),
        until=None if params.until is None else naming.parse_time(params.until, now, last=True),
        path=None if params.path is None else asked.path(params.path, root) or None,
        cursor=0 if params.cursor is None else params.cursor,
        limit=limit(params.limit),
    )


def _array(messages: list[msgspec.Raw]) -> bytes:
    """The messages as they were written: nothing is decoded here, however many there are."""
    array = b"[" + b",".join(bytes(message) for message in messages) + b"]"
    try:
        array.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"The conversation is not UTF-8: {error}.") from None
    return array


def _utc(moment: datetime | None) -> datetime | None:
    """Without a zone it is UTC already, as all times of the wire."""
    if moment is None or moment.tzinfo is None:
        return moment and moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise UsageError(f"{moment.isoformat()} is no time that can be kept.") from None
