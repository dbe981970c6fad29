"""What people and agents say, made fit to be kept: without secrets, and within limits. Nothing is written before.

Secrets are taken out before anything is cut: half of a secret is not recognised.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from backtrail.errors import UsageError
from backtraild.sessions.model import ToolCall

PROMPT_LIMIT = 1024 * 1024
TITLE_LIMIT = 1000
TOOL_INPUT_LIMIT = 500
METADATA_LIMIT = 64 * 1024
NESTING_LIMIT = 50


class Redactor(Protocol):
    """What takes secrets out, and tells how many of each kind there were."""

    def text(self, text: str) -> tuple[str, Counter[str]]:
        """A text without its secrets."""
        ...

    def value(self, value: Any) -> tuple[Any, Counter[str]]:
        """A JSON value without the secrets in its texts."""
        ...


class Cleaner:
    """Cleans the parts of one record and counts what was taken out of them."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.redacted: Counter[str] = Counter()

    def text(self, text: str, limit: int = TITLE_LIMIT) -> str:
        """A text without secrets, cut where it is too long."""
        clean, found = self._redactor.text(_printable(text))
        self.redacted += found
        return clean[:limit]

    def metadata(self, known: Mapping[str, Any], given: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """What is known with what is given put over it. Raises UsageError where it can't be kept."""
        if not given:
            return known
        clean, found = self._redactor.value(_as_json("The metadata", given))
        self.redacted += found
        merged = {**known, **clean}
        size = len(msgspec.json.encode(merged))
        if size > METADATA_LIMIT:
            raise UsageError(f"The metadata is {size:,} bytes long; at most {METADATA_LIMIT:,} are kept.")
        return merged

    def tool(self, call: ToolCall) -> ToolCall:
        """A tool's use, with its input as a short text."""
        return replace(
            call, name=self.text(call.name), id=self.text(call.id), input=self._tool_input(call.input)
        )

    def _tool_input(self, given: Any) -> str:
        if isinstance(given, str):
            return self.text(given, TOOL_INPUT_LIMIT)
        clean, found = self._redactor.value(_as_json("A tool's input", given))
        self.redacted += found
        return msgspec.json.encode(clean).decode()[:TOOL_INPUT_LIMIT]


def _as_json(what: str, value: Any) -> Any:
    """A value as JSON gives it back. Refused if it can't be written, or is nested so deeply that reading may fail."""
    level: list[Any] = [value]
    for _ in range(NESTING_LIMIT):
        folded = [list(inner.values()) if isinstance(inner, Mapping) else inner for inner in level]
        level = [inner for part in folded if isinstance(part, list | tuple) for inner in part]
        if not level:
            break
    else:
        raise UsageError(f"{what} is nested deeper than {NESTING_LIMIT} levels.")
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError) as error:  # of half characters, too
        raise UsageError(f"{what} can't be written as JSON: {error}.") from error


def _printable(text: str) -> str:
    """Half of a character, which JSON can't hold, must not cost the whole prompt."""
    return text.encode("utf-8", "replace").decode()
