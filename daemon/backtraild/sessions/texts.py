"""What of a message is worth finding: its text, who said it and when; and what was asked in it. Pure.

Common shapes are understood: `{"role", "content": text | [{"type": "text", "text": …}, …]}`, and the same inside
`{"message": …}`. Of anything else, all texts are taken.
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

TEXT_LIMIT = 16 * 1024  # characters of one message that can be found
_ROLE_LIMIT = 40
# Names of fields whose texts nobody looks for.
_MACHINERY = frozenset({"type", "id", "tool_use_id", "signature", "media_type"})
# Pictures and the like: nobody looks for them either, and they would take the place of words.
_ENCODED = r"[A-Za-z0-9+/=_-]{256}"
# Who asks, and which parts of a message are what was asked: results of tools are told in the asker's name, too.
_ASKING = ("user", "human")
_ASKED = (None, "text", "input_text")
_UNWANTED = dict.fromkeys([0, *range(1, 9), *range(14, 32)], " ")


class Passage(Struct, frozen=True):
    """The findable part of a message."""

    text: str
    role: str
    time: datetime | None


def passage(line: bytes) -> Passage:
    """What can be found of one line of a conversation, whatever it holds."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):  # kept as it is, so it is found as it is
        return Passage(plain(line.decode("utf-8", "replace")), "", None)
    outer, inner = _shells(message)
    content = inner.get("content") if "role" in inner or inner is not outer else None
    role = _role(outer, inner)
    return Passage(
        text=plain(_joined(_strings(message, ()) if content is None else _strings(content, _MACHINERY))),
        role=plain(role)[:_ROLE_LIMIT] if isinstance(role, str) else "",
        time=_time(outer.get("timestamp")),
    )


def asked(line: bytes) -> str:
    """What a person asks in one line of a conversation; nothing if it is somebody else's, or of another shape."""
    try:
        outer, inner = _shells(json.loads(line))
    except (ValueError, RecursionError):
        return ""
    content = inner.get("content") if _role(outer, inner) in _ASKING else None
    parts = content if isinstance(content, list) else [{"text": content}]
    texts = [part.get("text") for part in parts if isinstance(part, dict) and part.get("type") in _ASKED]
    return "\n".join(text for text in texts if isinstance(text, str))


def _shells(message: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """A message as it is written down, and what was said, which may be inside of it."""
    outer = message if isinstance(message, dict) else {}
    return outer, outer["message"] if isinstance(outer.get("message"), dict) else outer


def _role(outer: dict[str, Any], inner: dict[str, Any]) -> Any:
    told = inner if isinstance(inner.get("role"), str) else outer
    return told.get("role", told.get("type"))


def plain(text: str) -> str:
    """A text that SQLite can hold and whose control characters can't be taken for marks, cut to its limit."""
    return text[:TEXT_LIMIT].translate(_UNWANTED).encode("utf-8", "replace").decode()


def _joined(strings: Iterator[str]) -> str:
    found: list[str] = []
    length = 0
    for text in strings:
        if not (re.match(_ENCODED, text) and " " not in text):
            found.append(text[:TEXT_LIMIT])
            length += len(found[-1])
        if length >= TEXT_LIMIT:
            break
    return "\n".join(found)


def _strings(value: Any, skipped: frozenset[str] | tuple[()]) -> Iterator[str]:
    """Every text in a JSON value, in order. Nothing recurses: a value may be nested as deeply as it likes."""
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            pending += [inner for name, inner in reversed(current.items()) if name not in skipped]
        elif isinstance(current, list):
            pending += reversed(current)


def _time(given: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(given).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):  # no text, no time, or one near the ends of time
        return None
