"""Content of a transcript as lines: JSONL as it stands, a JSON array element by element. No disk."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from backtrail.errors import UnreadableTranscript, UsageError
from backtraild.transcripts.intake import is_json

LONGEST_LINE = 64 * 1024 * 1024
LONGEST_ARRAY = 64 * 1024 * 1024
MARGIN = 4096  # bytes at both ends that must be the same for a file to be taken for the same one, longer

# A newline in valid JSON stands between tokens, never in a string; so does the space around it.
_LINE_BREAK = rb"\s*[\r\n]\s*"
_COMPLETE_BY_ITSELF = (b"{", b"[", b'"')

_elements = msgspec.json.Decoder(list[msgspec.Raw])


class Splitting:
    """Lines out of pieces of content; tells afterwards how far it got, and what stood at both ends of that."""

    def __init__(self, offset: int = 0, head: bytes = b"", tail: bytes = b"") -> None:
        self.offset = offset
        self.incomplete = False
        self._head = head
        self._tail = tail

    @property
    def head_hash(self) -> bytes:
        """Of the first bytes that were taken."""
        return hashlib.sha256(self._head).digest()

    @property
    def tail_hash(self) -> bytes:
        """Of the last bytes that were taken."""
        return hashlib.sha256(self._tail).digest()

    def lines(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """The lines that are not blank. A last one without a newline is taken only if it can't go on."""
        begun: list[bytes] = []
        for piece in pieces:
            end = piece.rfind(b"\n") + 1
            if end:
                content = b"".join([*begun, piece[:end]])
                begun = []
                self._take(content)
                yield from filter(_has_text, content[:-1].split(b"\n"))
            begun.append(piece[end:])
            _check_length(sum(map(len, begun)))
        last = b"".join(begun)
        if last.lstrip().startswith(_COMPLETE_BY_ITSELF) and is_json(last):
            self._take(last)
            yield last
        else:
            self.incomplete = _has_text(last)

    def _take(self, content: bytes) -> None:
        self.offset += len(content)
        self._head += content[: MARGIN - len(self._head)]
        self._tail = (self._tail + content[-MARGIN:])[-MARGIN:]


def is_array(content: bytes) -> bool:
    """Is this the beginning of one JSON array, and not of lines that are arrays themselves?"""
    if not content.lstrip().startswith(b"["):
        return False
    first, _, rest = content.lstrip().partition(b"\n")
    return not (_has_text(rest) and is_json(first))


def elements(content: bytes) -> list[bytes]:
    """The elements of a JSON array, each as one line and otherwise as it was written."""
    if len(content) > LONGEST_ARRAY:
        raise UnreadableTranscript(
            f"The transcript is one JSON array of more than {LONGEST_ARRAY:,} bytes.",
            "Write long transcripts as JSONL, one message a line: those are read as they grow.",
        )
    try:
        return [re.sub(_LINE_BREAK, b"", bytes(element)) for element in _elements.decode(content)]
    except (ValueError, RecursionError):
        return encoded(_lenient(content))


def encoded(messages: list[Any]) -> list[bytes]:
    """JSON values, each as one line."""
    return [_line(message) for message in messages]


def _lenient(content: bytes) -> list[Any]:
    try:
        values: list[Any] = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableTranscript(
            f"The transcript is a JSON array that is not valid, or not complete yet: {error}.",
            "Try again when it is written, or write JSONL, one message a line.",
        ) from error
    return values


def _line(message: Any) -> bytes:
    try:
        try:
            return msgspec.json.encode(message)
        except UnicodeEncodeError:  # half of a character, which only an escape can stand for
            return json.dumps(message, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"A message of the conversation can't be written as JSON: {error}.") from error


def _has_text(line: bytes) -> bool:
    return bool(line) and not line.isspace()


def _check_length(length: int) -> None:
    if length > LONGEST_LINE:
        raise UnreadableTranscript(
            f"The transcript has a line of more than {LONGEST_LINE:,} bytes.", "Is it a transcript?"
        )
