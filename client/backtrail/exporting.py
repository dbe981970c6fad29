"""A session as lines of JSON, to be kept or read elsewhere. Every line is an object with a `kind`:

- `session`, the first line: the facts of the session;
- `turn`: one for each record, rewound ones too, in the order of their ordinals;
- `snapshot`: one for each, in the order of their numbers;
- `message`: `generation`, `index` (from 0) and the `message` itself. A snapshot is the first `message_count`
  messages of its generation; of each generation all messages are there that a snapshot holds.
"""

import contextlib
import os
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from backtrail.asking import PathLike
from backtrail.session_values import ConversationSnapshot, Session, SessionSummary, Turn

_FACTS = [name for name in SessionSummary.__struct_fields__ if name != "also"]
_OF_TURN = [name for name in Turn.__struct_fields__ if name != "also"]


def heading(session: Session) -> Iterator[bytes]:
    """Everything but the messages."""
    yield _line("session", {name: getattr(session, name) for name in _FACTS})
    for turn in session.turns:
        yield _line("turn", {name: getattr(turn, name) for name in _OF_TURN})
    for snapshot in session.snapshots:
        yield _line("snapshot", msgspec.structs.asdict(snapshot))


def generations(session: Session) -> list[ConversationSnapshot]:
    """Of each generation the snapshot that holds the most of it."""
    longest: dict[int, ConversationSnapshot] = {}
    for snapshot in session.snapshots:
        known = longest.get(snapshot.generation)
        if known is None or known.message_count < snapshot.message_count:
            longest[snapshot.generation] = snapshot
    return [longest[generation] for generation in sorted(longest)]


def message(generation: int, index: int, said: Any) -> bytes:
    """One message."""
    return _line("message", {"generation": generation, "index": index, "message": said})


@contextlib.contextmanager
def opened(file: PathLike | BinaryIO) -> Iterator[BinaryIO]:
    """A file to write to: one that is open already, or one that only its owner may read."""
    if not isinstance(file, str | bytes | os.PathLike):
        yield file
        return
    with open(file, "wb", opener=lambda path, flags: os.open(path, flags, 0o600)) as found:
        yield found


def _line(kind: str, fields: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"kind": kind, **fields}) + b"\n"
