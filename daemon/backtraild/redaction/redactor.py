"""Secrets taken out of texts before anybody keeps them. Pure: bytes in, bytes out, and a count."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from backtraild.redaction.custom import compiled
from backtraild.redaction.findings import Finding, marker, merged, untouched
from backtraild.redaction.literals import is_json, within_strings


class Redactor:
    """Replaces secrets by `[REDACTED:kind]`, and counts them by kind."""

    def __init__(self, custom: Sequence[str] = (), enabled: bool = True) -> None:
        self._custom = compiled(custom)
        self._enabled = enabled

    def line(self, raw: bytes) -> tuple[bytes, Counter[str]]:
        """One line of JSONL, or any text. What was JSON is JSON afterwards; all but the secrets stays as it is."""
        counts: Counter[str] = Counter()
        if not self._enabled:
            return raw, counts
        # A replacement may uncover another secret. Every round leaves fewer bytes that are not markers.
        while findings := self._findings(raw):
            raw, found = _replaced(raw, findings)
            counts += found
            if not found:
                break
        return raw, counts

    def text(self, text: str) -> tuple[str, Counter[str]]:
        """A prompt, a title, anything that is not encoded yet."""
        raw, counts = self.line(text.encode("utf-8", "surrogatepass"))
        return (raw.decode("utf-8", "surrogatepass"), counts) if counts else (text, counts)

    def value(self, value: Any) -> tuple[Any, Counter[str]]:
        """Anything that JSON can express, such as metadata; names in it say what the values are."""
        raw, counts = self.line(json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
        return (json.loads(raw.decode("utf-8", "surrogatepass")), counts) if counts else (value, counts)

    def _findings(self, raw: bytes) -> list[Finding]:
        from backtraild.redaction.detectors import (
            find_all,
        )  # here, because most starts of a daemon need none of it

        # An empty one would be replaced again and again, and the line would grow without end.
        found = [finding for finding in find_all(raw, self._custom) if finding.end > finding.start]
        return merged(untouched(raw, found)) if found else found


def _replaced(raw: bytes, findings: Iterable[Finding]) -> tuple[bytes, Counter[str]]:
    parted = list(within_strings(raw, findings)) if is_json(raw) else [[finding] for finding in findings]
    pieces, position = [], 0
    for part in (part for parts in parted for part in parts):
        pieces += [raw[position : part.start], marker(part.kind)]
        position = max(position, part.end)
    return b"".join([*pieces, raw[position:]]), Counter(parts[0].kind for parts in parted if parts)
