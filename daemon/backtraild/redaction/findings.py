"""Places in a text that hold a secret, and which of them win when they overlap. Pure values."""

import re
from bisect import bisect_left
from collections.abc import Iterable
from typing import NamedTuple

_MARKER = re.compile(rb"\[REDACTED:[a-z0-9-]{1,40}\]")


class Finding(NamedTuple):
    """The bytes from `start` to `end` are a secret of this kind; the detector with the lower rank knows best."""

    start: int
    end: int
    rank: int
    kind: str


def marker(kind: str) -> bytes:
    """What stands in the place of a secret: nothing in it needs escaping in JSON, YAML or a shell's quotes."""
    return f"[REDACTED:{kind}]".encode("ascii")


def untouched(raw: bytes, findings: Iterable[Finding]) -> list[Finding]:
    """Those that have no part of a marker in them: what was replaced is not replaced again."""
    marked = [match.span() for match in _MARKER.finditer(raw)]
    return [finding for finding in findings if not _is_marked(finding, marked)]


def _is_marked(finding: Finding, marked: list[tuple[int, int]]) -> bool:
    last = bisect_left(marked, (finding.end, 0)) - 1
    return last >= 0 and marked[last][1] > finding.start


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """In order and apart from each other: overlapping ones become one, with the kind that knows best."""
    result: list[Finding] = []
    for finding in sorted(findings):
        if result and finding.start < result[-1].end:
            result[-1] = _union(result[-1], finding)
        else:
            result.append(finding)
    return result


def _union(one: Finding, other: Finding) -> Finding:
    best = min(one, other, key=lambda finding: finding.rank)
    return Finding(one.start, max(one.end, other.end), best.rank, best.kind)
