"""The values that conversations are made of, and what can be wrong with one; nothing here touches a disk."""

from collections import Counter
from typing import Any, Protocol

from msgspec import Struct


class Redactor(Protocol):
    """What takes secrets out of a line. One line comes in and one goes out."""

    def line(self, raw: bytes) -> tuple[bytes, Counter[str]]:
        """The line without its secrets, and how many of each kind there were."""
        ...


class Messages(Struct, frozen=True):
    """A conversation as JSON values."""

    values: list[Any]


class Lines(Struct, frozen=True):
    """A conversation as the content of a transcript: JSONL, or one JSON array."""

    content: bytes


class TranscriptFile(Struct, frozen=True):
    """A conversation in a file that somebody else writes: JSONL, or one JSON array."""

    path: str


Source = Messages | Lines | TranscriptFile


class Generation(Struct, frozen=True):
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


class Recorded(Struct, frozen=True):
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
