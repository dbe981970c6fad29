"""The values that conversations are made of, and what can be wrong with one; nothing here touches a disk."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol


class Redactor(Protocol):
    """What takes secrets out of a line. One line comes in and one goes out."""

    def line(self, raw: bytes) -> tuple[bytes, Counter[str]]:
        """The line without its secrets, and how many of each kind there were."""
        ...


@dataclass(frozen=True, slots=True)
class Messages:
    """A conversation as JSON values."""

    values: list[Any]


@dataclass(frozen=True, slots=True)
class Lines:
    """A conversation as the content of a transcript: JSONL, or one JSON array."""

    content: bytes


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """A conversation in a file that somebody else writes: JSONL, or one JSON array."""

    path: str


Source = Messages | Lines | TranscriptFile


@dataclass(frozen=True, slots=True)
class Generation:
    """One append-only list of messages.

    `content_hash` is defined in `chunks.chained`; `redacted` counts what was taken out of its messages, and
    `malformed` those of them that are not JSON.
    """

    number: int
    message_count: int
    bytes: int
    content_hash: str
    redacted: Counter[str]
    malformed: int


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of recording a conversation: a generation up to a message, and how it got there.

    The last `appended` messages are new; those before are the ones of the last time. `incomplete` says that the
    source ended in the middle of a line, which was left out.
    """

    generation: int
    message_count: int
    bytes: int
    content_hash: str
    redacted: Counter[str]
    malformed: int
    appended: int
    incomplete: bool
