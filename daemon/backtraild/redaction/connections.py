"""Secrets on the way to a server: passwords in URLs, Authorization headers, webhooks, `curl -u`."""

import binascii
import re
from collections.abc import Callable, Iterator

from backtraild.redaction.appearance import is_random, stands_for_something
from backtraild.redaction.findings import Finding

RANK = 2

# Two slashes that are escaped, however often, have this in their middle.
_ESCAPED_SLASHES = b"\\/\\"
_LONGEST_ESCAPE = 9
_SLASHES = rb":(?:\\{0,8}/){2}"
_PLAIN = rb"\s/\"'`<>\\(){}|"
_LOGIN = re.compile(
    _SLASHES + rb"[^:@" + _PLAIN + rb"]{0,128}:([^" + _PLAIN + rb"]{1,256})@(?=[A-Za-z0-9_.\-\[%$])"
)
_USER_ALONE = re.compile(_SLASHES + rb"([^:@" + _PLAIN + rb"]{16,256})@(?=[A-Za-z0-9])")
_WEBHOOK = re.compile(
    _SLASHES
    + rb"(hooks\.slack\.com|(?:[a-z]{1,10}\.)?discord(?:app)?\.com|[a-z0-9]{1,40}\.webhook\.office\.com)"
    rb"\\{0,8}/((?:[A-Za-z0-9_@\-]|\\{0,8}/){20,300})"
)
_LONGEST_URL = 800
_SIGNATURE = re.compile(rb"sig=([A-Za-z0-9%+/]{40,100}=?)")
_BEFORE_SIGNATURE = frozenset(b"?&;")
_NO_PASSWORDS = frozenset(b"password pass passwd pwd secret pw token user username port".split())

_BETWEEN = rb"(?:[ \t]|%20|\+){1,4}"
_BEARER = re.compile(rb"(?i:bearer)" + _BETWEEN + rb"((?:[A-Za-z0-9._~+\-]|\\{0,8}/){16,4096}={0,2})")
_BASIC = re.compile(rb"(?i:basic)" + _BETWEEN + rb"((?:[A-Za-z0-9+]|\\{0,8}/){8,1024}={0,2})")
_QUOTE = rb"(?:\\{0,8}[\"'`])?"
_HEADER = re.compile(
    rb"(?i:authorization)" + _QUOTE + rb"\]?\s{0,4}[:=,]\s{0,4}" + _QUOTE + rb"(?:[A-Za-z]{1,16}[ =]{1,2})?"
    rb"([A-Za-z0-9._~+/=\-]{16,4096})"
)
_COMMAND = 400
_LONGEST_OPTION = 256
_USER_OPTION = re.compile(
    rb"(?:-u|--user)(?:[ =]|" + _QUOTE + rb", ?)" + _QUOTE + rb"[\w.@+\-]{1,64}:([^\s\"'`\\]{4,128})"
)


def find_connections(raw: bytes, lowered: bytes) -> Iterator[Finding]:
    """Every password or token that some server would accept; users and hosts stay readable."""
    for start in _occurrences(raw, b"://"):
        yield from _in_url(raw, start)
    for middle in _occurrences(raw, _ESCAPED_SLASHES):
        yield from _in_url(raw, max(0, raw.rfind(b":", max(0, middle - _LONGEST_ESCAPE), middle)))
    for needle, found_at in _BY_WORD:
        if needle in lowered:
            for start in _occurrences(lowered, needle):
                yield from found_at(raw, start)
    yield from _find_curl(raw, lowered)
    yield from _find_signatures(raw)


def _bearer_at(raw: bytes, start: int) -> Iterator[Finding]:
    yield from _random(_BEARER.match(raw, start), "authorization")


def _basic_at(raw: bytes, start: int) -> Iterator[Finding]:
    match = _BASIC.match(raw, start)
    if match and _is_login(match[1]):
        yield from _group(match, "authorization")


def _header_at(raw: bytes, start: int) -> Iterator[Finding]:
    yield from _random(_HEADER.match(raw, start), "authorization")


def _find_curl(raw: bytes, lowered: bytes) -> Iterator[Finding]:
    """Options of `curl`. Commands may follow one another closely: no part of a line is searched for each of them."""
    done = 0
    for start in _occurrences(lowered, b"curl"):
        end = start + _COMMAND
        for option in _USER_OPTION.finditer(raw, max(start, done), end):
            yield from _checked_password(option)
            # One that is cut off where the search ends is found whole after the next `curl`, if there is one.
            done = option.start() if option.end() == end else option.end()
        done = max(done, end - _LONGEST_OPTION)


_BY_WORD: tuple[tuple[bytes, Callable[[bytes, int], Iterator[Finding]]], ...] = (
    (b"bearer", _bearer_at),
    (b"basic", _basic_at),
    (b"authorization", _header_at),
)


def _in_url(raw: bytes, start: int) -> Iterator[Finding]:
    yield from _checked_password(_LOGIN.match(raw, start))
    yield from _random(_USER_ALONE.match(raw, start), "url-password")
    webhook = _WEBHOOK.match(raw, start)
    if webhook and not stands_for_something(webhook[2]) and re.search(rb"[A-Za-z0-9_\-]{20}", webhook[2]):
        yield Finding(*webhook.span(2), RANK, "webhook")


def _find_signatures(raw: bytes) -> Iterator[Finding]:
    """Signatures in the parameters of a URL, which begins not far before them."""
    for start in _occurrences(raw, b"sig="):
        if start and raw[start - 1] in _BEFORE_SIGNATURE and _is_in_url(raw, start):
            yield from _group(_SIGNATURE.match(raw, start), "azure-key")


def _is_in_url(raw: bytes, position: int) -> bool:
    first = max(0, position - _LONGEST_URL)
    return any(raw.rfind(slashes, first, position) >= 0 for slashes in (b"://", _ESCAPED_SLASHES))


def _checked_password(match: re.Match[bytes] | None) -> Iterator[Finding]:
    if match and match[1].lower() not in _NO_PASSWORDS and not _is_placeholder(match[1]):
        yield from _group(match, "url-password")


def _is_placeholder(password: bytes) -> bool:
    # Also a short one with few letters, such as `aaa`, opens a door where a server has it.
    return stands_for_something(password) and (len(set(password)) >= 4 or set(password) <= set(b"*x.X"))


def _random(match: re.Match[bytes] | None, kind: str) -> Iterator[Finding]:
    if match and is_random(match[1], 16):
        yield from _group(match, kind)


def _group(match: re.Match[bytes] | None, kind: str) -> Iterator[Finding]:
    if match:
        yield Finding(*match.span(1), RANK, kind)


def _is_login(encoded: bytes) -> bool:
    """Basic credentials are `user:password` in base64; the word “basic” comes before much else."""
    plain = encoded.replace(b"\\", b"")
    try:
        login = binascii.a2b_base64(plain + b"=" * (-len(plain) % 4))
    except binascii.Error:
        return False
    return b":" in login[1:-1] and all(byte >= 32 for byte in login)


def _occurrences(raw: bytes, needle: bytes) -> Iterator[int]:
    start = raw.find(needle)
    while start >= 0:
        yield start
        start = raw.find(needle, start + len(needle))
