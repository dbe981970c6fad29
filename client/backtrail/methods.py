"""All methods of the wire, in the order in which PROTOCOL.md describes them."""

from collections.abc import Iterator
from types import ModuleType
from typing import Any

from backtrail import protocol, session_protocol
from backtrail.protocol import Method


def methods() -> Iterator[Method[Any, Any]]:
    """Every method there is, once."""
    yield from (method for method in _defined(protocol) if method is not protocol.LIST_SUMMARIES)
    yield from _defined(session_protocol)


def _defined(module: ModuleType) -> Iterator[Method[Any, Any]]:
    return (value for value in vars(module).values() if isinstance(value, Method))
