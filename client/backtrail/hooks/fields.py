"""Fields of a payload that may be there, under one name or another, and may be anything."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Payload = Mapping[str, Any]
Names = tuple[str, ...]


def text(payload: Payload, names: Names) -> str:
    """The first of these fields that is a text; empty if none is."""
    return next(_texts(payload.get(name) for name in names), "")


def texts(payload: Payload, names: Names) -> tuple[str, ...]:
    """The first of these fields that is a text, or a list with texts in it."""
    for name in names:
        value = payload.get(name)
        if found := tuple(_texts(value if isinstance(value, list) else [value])):
            return found
    return ()


def prompt(payload: Payload, names: Names) -> str:
    """What was asked: a text, or a list of parts of which some have one."""
    for name in names:
        value = payload.get(name)
        parts = value if isinstance(value, list) else [value]
        words = _texts(part.get("text") if isinstance(part, Mapping) else part for part in parts)
        if found := "\n".join(words):
            return found
    return ""


def anything(payload: Payload, names: Names) -> Any:
    """The first of these fields that is there, whatever it is."""
    return next((payload[name] for name in names if payload.get(name) is not None), "")


def part(payload: Payload, name: str) -> Payload:
    """A field that is an object itself; without fields if it is none."""
    value = payload.get(name)
    return value if isinstance(value, Mapping) else {}


def _texts(values: Iterable[Any]) -> Iterator[str]:
    """Those that are texts and not empty; half of a character, which JavaScript may leave, becomes a question mark."""
    return (value.encode("utf-8", "replace").decode() for value in values if isinstance(value, str) and value)
