"""Private keys in armour, from their first line to their last, also where newlines are escaped."""

import re
from collections.abc import Iterator

from backtraild.redaction.findings import Finding

RANK = 0

_DASHES = b"-----BEGIN"
_FIRST = re.compile(rb"-----BEGIN ((?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?)-----")
_LONGEST = 64 * 1024
# A key that was cut off goes on as long as its lines do; \n may be escaped more than once.
_BODY = re.compile(rb"(?:[A-Za-z0-9+/=\s]++|\\{1,8}[nrt/]|[\w\-]{1,20}: [^\\\"\r\n]{1,80})*")
_NOTHING_LEFT = re.compile(rb"[A-Za-z0-9+/]{16}")
_PUTTY = b"PuTTY-User-Key-File-"
_PUTTY_PRIVATE = re.compile(
    rb"Private-Lines: [0-9]{1,4}(?:\s|\\{1,8}[nr])+((?:[A-Za-z0-9+/=\s]++|\\{1,8}[nr/])*)"
)


def find_blocks(raw: bytes) -> Iterator[Finding]:
    """Every private key: PEM of all sorts, OpenSSH, PGP, PuTTY."""
    start = raw.find(_DASHES)
    while start >= 0:
        end = start + len(_DASHES)
        if first := _FIRST.match(raw, start):
            end = _end_of(raw, first)
            if _NOTHING_LEFT.search(raw, first.end(), end):
                yield Finding(start, end, RANK, "private-key")
        start = raw.find(_DASHES, end)
    if _PUTTY in raw:
        for match in _PUTTY_PRIVATE.finditer(raw):
            if _NOTHING_LEFT.search(match[1]):
                yield Finding(*match.span(1), RANK, "private-key")


def _end_of(raw: bytes, first: re.Match[bytes]) -> int:
    """After the last line. Between the two may stand line numbers, `+` of a diff, quotes of an array."""
    last = b"-----END " + first[1] + b"-----"
    limit = first.end() + _LONGEST
    again = raw.find(_DASHES, first.end(), limit)
    found = raw.find(last, first.end(), limit if again < 0 else again)
    if found >= 0:
        return found + len(last)
    body = _BODY.match(raw, first.end(), limit)
    return body.end() if body else first.end()
