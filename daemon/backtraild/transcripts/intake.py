"""Messages on their way in: without their secrets, counted and hashed as they go by, each once."""

import json
from collections import Counter
from collections.abc import Callable, Iterator

import msgspec

from backtraild.transcripts.chunks import NO_LINES_HASH, chained
from backtraild.transcripts.model import Generation

Redact = Callable[[bytes], tuple[bytes, Counter[str]]]

_NOTHING: Counter[str] = Counter()
_scanner = msgspec.json.Decoder(msgspec.Raw)


class Intake(Iterator[bytes]):
    """The lines of a conversation, and what is known of it up to the one that went by last."""

    def __init__(
        self,
        lines: Iterator[bytes],
        redact: Redact,
        start: Generation | None = None,
        redacted: Counter[str] = _NOTHING,
    ) -> None:
        """Lines that go on from the end of a generation; without one, they are all there is."""
        self._lines = lines
        self._redact = redact
        self._count = start.message_count if start else 0
        self._bytes = start.bytes if start else 0
        self._hash = bytes.fromhex(start.content_hash) if start else NO_LINES_HASH
        self._redacted = Counter(start.redacted if start else redacted)
        self._malformed = start.malformed if start else 0

    def __next__(self) -> bytes:
        return self._taken(*self._redact(next(self._lines)))

    def following(self, expected: bytes) -> bytes | None:
        """The next line, where this one is likely; None at the end."""
        raw = next(self._lines, None)
        if raw is None:
            return None
        # What the store holds has been through the redactor, which would not change it a second time. Not asking
        # it makes comparing a long conversation many times faster.
        return self._taken(raw, _NOTHING) if raw == expected else self._taken(*self._redact(raw))

    def generation(self, number: int) -> Generation:
        """Everything that went by, as a generation of this number."""
        return Generation(
            number=number,
            message_count=self._count,
            bytes=self._bytes,
            content_hash=self._hash.hex(),
            redacted=Counter(self._redacted),
            malformed=self._malformed,
        )

    def _taken(self, line: bytes, found: Counter[str]) -> bytes:
        self._count += 1
        self._bytes += len(line) + 1
        self._hash = chained(self._hash, line)
        self._malformed += not is_json(line)
        if found:
            self._redacted += found
        return line


def is_json(line: bytes) -> bool:
    """Is this one whole JSON value?"""
    try:
        if not line.isascii():
            line.decode()
        _scanner.decode(line)
    except (ValueError, RecursionError):
        return _is_lenient_json(line)
    return True


def _is_lenient_json(line: bytes) -> bool:
    """JavaScript writes half of a character as an escape, which msgspec refuses and others read."""
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
