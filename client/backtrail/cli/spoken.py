"""What a message of a conversation says, for a person: who speaks, and the text. Pure; a message may be any JSON.

Understood are `{"role", "content"}` with a text or a list of parts as content, the same inside `{"message": …}`,
and `parts` instead of `content`. Of anything else, the JSON itself is shown.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

_LONGEST_INPUT = 300
_TOO_DEEP = "[nested too deeply to be shown]"


class Spoken(NamedTuple):
    """One message; `text` may have several lines."""

    role: str
    text: str


def spoken(message: Any) -> Spoken:
    """Who says what."""
    outer = message if isinstance(message, dict) else {}
    inner = outer["message"] if isinstance(outer.get("message"), dict) else outer
    role = _first_text(inner.get("role"), outer.get("role"), outer.get("type"))
    try:
        text = _said(inner) or (message if isinstance(message, str) else _json(message))
    except RecursionError:  # results in results in results: the daemon hands on whatever JSON can be
        text = _TOO_DEEP
    return Spoken(role, text)


def _said(message: dict[str, Any]) -> str:
    """The text of a message in one of the shapes that are understood; nothing of another one."""
    content = message.get("content", message.get("parts"))
    return "\n".join([*_parts(content), *_calls(message.get("tool_calls"))]).strip("\n")


def _parts(content: Any) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content:
            yield _part(part)
    elif content is not None:
        yield _part(content)


def _part(part: Any) -> str:
    if not isinstance(part, dict):
        return part if isinstance(part, str) else _json(part)
    kind = part.get("type")
    if kind == "tool_use":
        return _call(part.get("name"), part.get("input"))
    if kind == "tool_result":
        return "\n".join(_parts(part.get("content"))) or "[no output]"
    for name in ("text", "thinking", "content"):
        if isinstance(part.get(name), str):
            return str(part[name])
    # A picture or the like: its bytes are nothing to read.
    return f"[{kind}]" if isinstance(kind, str) else _short(_json(part))


def _calls(calls: Any) -> Iterator[str]:
    """Tools as some agents call them, beside the content."""
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            yield _call(function.get("name"), function.get("arguments"))


def _call(name: Any, given: Any) -> str:
    told = given if isinstance(given, str) else "" if given is None else _json(given)
    return f"[{name}] {_short(told)}".rstrip()


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_INPUT else text[:_LONGEST_INPUT] + "…"


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _first_text(*candidates: Any) -> str:
    return next((found for found in candidates if isinstance(found, str) and found), "message")
