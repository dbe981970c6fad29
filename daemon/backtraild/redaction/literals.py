"""Where the strings of a JSON text are, so that a replacement leaves it JSON. No secrets are searched here."""

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from backtraild.redaction.findings import Finding

_LITERAL = rb'(?s)"([^"\\]*+(?:\\.[^"\\]*+)*)"'
_ESCAPE = rb"(?s)\\(?:u[0-9a-fA-F]{4}|.)"
_LONGEST_ESCAPE = 6


def is_json(raw: bytes) -> bool:
    """Only what may hold a string counts; a text that is too deep to be read is taken for JSON."""
    if raw.lstrip()[:1] not in (b"{", b"[", b'"'):
        return False
    try:
        json.loads(raw)
    except RecursionError:
        return True
    except ValueError:
        return False
    return True


def within_strings(raw: bytes, findings: Iterable[Finding]) -> Iterator[list[Finding]]:
    """Each finding as its parts inside of strings: a key over several items of an array has one in each.

    A part never ends within an escape. What is outside of all strings, such as a number, is left out.
    """
    literals = [match.span(1) for match in re.finditer(_LITERAL, raw)]
    for finding in findings:
        yield [part for part in _parts(raw, finding, literals) if part.end > part.start]


def _parts(raw: bytes, finding: Finding, literals: list[tuple[int, int]]) -> Iterator[Finding]:
    first = max(0, bisect_right(literals, (finding.start, len(raw))) - 1)
    for number in range(first, len(literals)):
        start, end = literals[number]
        if start >= finding.end:
            return
        if end > finding.start:
            inside = finding._replace(start=max(start, finding.start), end=min(end, finding.end))
            yield _whole_escapes(raw, inside, start)


def _whole_escapes(raw: bytes, part: Finding, literal: int) -> Finding:
    """Widen a part that begins or ends within an escape."""
    start, end = part.start, part.end
    for position in (part.start, part.end):
        for escape in _escapes_around(raw, position, literal):
            if escape.start() < position < escape.end():
                start, end = min(start, escape.start()), max(end, escape.end())
    return part._replace(start=start, end=end)


def _escapes_around(raw: bytes, position: int, literal: int) -> Iterator[re.Match[bytes]]:
    """Escapes near a position. A row of backslashes is counted from its first, since they pair up."""
    near = max(literal, position - _LONGEST_ESCAPE)
    while near > literal and raw[near - 1 : near] == b"\\":
        near -= 1
    return re.compile(_ESCAPE).finditer(raw, near, position + _LONGEST_ESCAPE)
