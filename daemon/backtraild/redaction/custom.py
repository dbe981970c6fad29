"""Patterns from the configuration: refused if they could take for ever, and searched in pieces of bounded size.

A pattern is a regular expression of Python's. One that repeats a group in which something is repeated or
chosen, such as `(a+)+`, can take time that doubles with every letter, and is refused. One that is slow on a
thousand equal letters, such as `.*.*.*x`, is refused as well. What remains is at worst quadratic, and is
searched in pieces of 1 KiB that overlap by half: so time grows with the length of a line and not with its
square, and a pattern finds secrets of up to 512 bytes.
"""

import re
import time
from collections.abc import Iterator, Sequence

from backtrail.errors import UsageError
from backtraild.redaction.findings import Finding

RANK = 4

_PIECE = 1024
_STEP = 512
_PROBED = (24, 96, 384, _PIECE)
_SLOW = 0.02  # seconds of CPU time; what is not slow takes a hundredth of it
_LETTERS = "aA0_-./ =:\\\"'x"
_HINT = (
    "Give repetitions exact bounds, as in acme_[a-z0-9]{20,40}, and repeat no group that repeats something."
)
# A group that is repeated, and that has a repetition or a choice in it; groups in groups count as well.
_ATOM = re.compile(
    r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[P<=!:#a-zA-Z_0-9>-]*|[(|)]|[*+?]|\{[0-9]*,[0-9]*\}|.", re.DOTALL
)


def compiled(patterns: Sequence[str]) -> tuple[re.Pattern[bytes], ...]:
    """The patterns, ready to be searched; UsageError names the one that can't be used."""
    return tuple(_compiled(pattern) for pattern in patterns)


def find_custom(raw: bytes, patterns: Sequence[re.Pattern[bytes]]) -> Iterator[Finding]:
    """Every place where a pattern matches something."""
    for pattern in patterns:
        for start in range(0, max(1, len(raw) - _STEP), _STEP):
            for match in pattern.finditer(raw, start, start + _PIECE):
                if match.end() > match.start():
                    yield Finding(match.start(), match.end(), RANK, "custom")


def _compiled(pattern: str) -> re.Pattern[bytes]:
    try:
        found = re.compile(pattern.encode())
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(f"The redaction pattern {pattern!r} can't be used: {error}.", _HINT) from error
    if found.match(b""):
        raise UsageError(
            f"The redaction pattern {pattern!r} can't be used: it matches nothing at all.", _HINT
        )
    if _repeats_repetition(pattern):
        raise UsageError(f"The redaction pattern {pattern!r} can't be used: it repeats a repetition.", _HINT)
    if _is_slow(found):
        raise UsageError(f"The redaction pattern {pattern!r} can't be used: it takes too long.", _HINT)
    return found


def _repeats_repetition(pattern: str) -> bool:
    varying = [False]  # does the group that is open, from the outermost on, hold a repetition or a choice?
    closed = False  # did a group with one end right here?
    for atom in _ATOM.findall(pattern):
        repeats = atom in ("*", "+") or (atom.startswith("{") and "," in atom)
        if repeats and closed:
            return True
        closed = False
        if atom.startswith("("):
            varying.append(False)
        elif atom == ")" and len(varying) > 1:
            closed = varying.pop()
            varying[-1] = varying[-1] or closed
        elif repeats or atom in ("|", "?"):
            varying[-1] = True
    return False


def _is_slow(pattern: re.Pattern[bytes]) -> bool:
    letters = sorted(set(_LETTERS.encode() + pattern.pattern))
    for size in _PROBED:
        for letter in letters:
            begun = time.thread_time()
            pattern.search(bytes([letter]) * size)
            if time.thread_time() - begun > _SLOW:
                return True
    return False
