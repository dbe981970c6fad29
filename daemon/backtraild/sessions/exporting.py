"""A session as lines of JSON, to be kept or read elsewhere. Every line is an object with a `kind`:

- `session`, the first line: `format` and the facts of the session;
- `turn`: one for each record, rewound ones too, in the order of their ordinals;
- `snapshot`: one for each, in the order of their numbers;
- `message`: `generation`, `index` (from 0) and the message itself: as it is in `message` if it is JSON, else as
  `text`, or as `base64` where it is not even UTF-8. A snapshot is the first `message_count` messages of its
  generation; of each generation all messages are there that a snapshot holds.
"""

import base64
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from backtraild.sessions.model import Session, Snapshot, Turn


def exported(
    session: Session,
    turns: Sequence[Turn],
    snapshots: Sequence[Snapshot],
    messages: Callable[[int, int], Iterator[bytes]],
) -> Iterator[bytes]:
    """The lines, each with its newline; `messages` reads the first ones of a generation."""
    yield _line("session", session)
    for turn in turns:
        yield _line("turn", turn)
    for snapshot in snapshots:
        yield _line("snapshot", snapshot)
    counts: dict[int, int] = {}
    for snapshot in snapshots:
        counts[snapshot.generation] = max(counts.get(snapshot.generation, 0), snapshot.message_count)
    for generation, count in sorted(counts.items()):
        for index, line in enumerate(messages(generation, count)):
            head = b'{"kind":"message","generation":%d,"index":%d,' % (generation, index)
            yield head + _message(line) + b"}\n"


def _line(kind: str, record: Any) -> bytes:
    return msgspec.json.encode({"kind": kind, **msgspec.to_builtins(record)}) + b"\n"


def _message(line: bytes) -> bytes:
    try:
        msgspec.json.decode(line)
        line.decode()
    except (ValueError, RecursionError):  # of bytes that are not UTF-8, too
        return _raw(line)
    return b'"message":' + line


def _raw(line: bytes) -> bytes:
    try:
        return b'"text":' + msgspec.json.encode(line.decode())
    except UnicodeDecodeError:
        return b'"base64":"' + base64.b64encode(line) + b'"'
