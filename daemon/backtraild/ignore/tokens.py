"""The glob language of git: the text of a pattern becomes tokens; nothing is matched here.

A token is either the set of bytes that may stand at one position (as sorted `bytes`: a literal is a set of
one), or a `Mark` for the parts of variable length.
"""

import re
from collections.abc import Iterator
from enum import Enum

SLASH_BYTE, BACKSLASH, DASH, CLOSE = b"/\\-]"
_ANY = frozenset(range(1, 256)) - {SLASH_BYTE}
ANY_BYTE = bytes(sorted(_ANY))


class Mark(Enum):
    """The tokens that are not one byte of a name."""

    STAR = "any bytes within one name"
    SLASH = "the end of a name"
    DEPTH = "any bytes, slashes too"
    DEPTH_SLASH = "nothing, or any bytes up to and including a slash"


Token = bytes | Mark

# Git's own character classes, not the locale's: its `space` has no vertical tab and no form feed.
CLASSES = {
    b"alnum": rb"[A-Za-z0-9]",
    b"alpha": rb"[A-Za-z]",
    b"blank": rb"[ \t]",
    b"cntrl": rb"[\x01-\x1f\x7f]",
    b"digit": rb"[0-9]",
    b"graph": rb"[!-~]",
    b"lower": rb"[a-z]",
    b"print": rb"[ -~]",
    b"punct": rb"[!-/:-@\[-`{-~]",
    b"space": rb"[ \t\n\r]",
    b"upper": rb"[A-Z]",
    b"xdigit": rb"[A-Fa-f0-9]",
}


class MalformedPattern(ValueError):
    """The pattern ends inside a bracket or behind a backslash: git lets it match nothing."""


def name_tokens(glob: bytes) -> list[Token]:
    """The tokens of a pattern without a slash. It sees one name only, so `**` means no more than `*`."""
    return list(_scan(glob, deep=False))


def path_tokens(glob: bytes) -> list[Token]:
    """The tokens of a pattern with a slash in it.

    Git compares the part before the first wildcard as plain text and hands over only the rest, so a `**` that
    opens the rest counts as the beginning of a pattern: `foo**/bar` matches `foo/x/bar`. The manual says
    otherwise; we do what git does.
    """
    plain = re.match(_PLAIN, glob)
    split = plain.end() if plain else 0
    literal: list[Token] = [_one(byte) for byte in glob[:split]]
    return literal + list(_scan(glob[split:], deep=True))


_PLAIN = rb"[^*?\[\\]*"


def _one(byte: int) -> Token:
    return Mark.SLASH if byte == SLASH_BYTE else bytes([byte])


def _scan(glob: bytes, deep: bool) -> Iterator[Token]:
    at = 0
    try:
        while at < len(glob):
            token, at = _next(glob, at, deep)
            yield token
    except IndexError:
        raise MalformedPattern(glob) from None


def _next(glob: bytes, at: int, deep: bool) -> tuple[Token, int]:
    head = glob[at : at + 1]
    if head == b"*":
        return _stars(glob, at, deep)
    if head == b"?":
        return ANY_BYTE, at + 1
    if head == b"[":
        return _bracket(glob, at + 1)
    byte, at = _literal(glob, at)
    return _one(byte), at


def _literal(glob: bytes, at: int) -> tuple[int, int]:
    """The byte that is meant at `at`, a backslash taking the next one literally, and where to go on."""
    if glob[at] == BACKSLASH:
        at += 1
    return glob[at], at + 1


def _stars(glob: bytes, at: int, deep: bool) -> tuple[Token, int]:
    end = at
    while glob[end : end + 1] == b"*":
        end += 1
    alone = at == 0 or glob[at - 1] == SLASH_BYTE
    if not deep or end - at < 2 or not alone:
        return Mark.STAR, end
    if glob.startswith(b"/", end):
        return Mark.DEPTH_SLASH, end + 1
    # An escaped slash ends the name too, but git does not let `**\/` stand for nothing.
    if end == len(glob) or glob.startswith(b"\\/", end):
        return Mark.DEPTH, end
    return Mark.STAR, end


def _bracket(glob: bytes, at: int) -> tuple[bytes, int]:
    """The bytes that a bracket expression allows; `at` is behind its `[`. No bracket ever allows a slash."""
    negated = glob.startswith((b"!", b"^"), at)
    start = at = at + negated
    members: set[int] = set()
    low: int | None = None  # where a range could begin: not behind another range or a class
    while at == start or glob[at] != CLOSE:
        named = _named_class(glob, at)
        if named is not None:
            members |= named[0]
            low, at = None, named[1]
        elif glob[at] == DASH and low is not None and glob[at + 1] != CLOSE:
            high, at = _literal(glob, at + 1)
            members.update(range(low, high + 1))
            low = None
        else:
            low, at = _literal(glob, at)
            members.add(low)
    return bytes(sorted(_ANY - members if negated else _ANY & members)), at + 1


def _named_class(glob: bytes, at: int) -> tuple[frozenset[int], int] | None:
    """The members of a class like `[:alpha:]` that stands at `at`, or None if none stands there."""
    if not glob.startswith(b"[:", at):
        return None
    close = glob.find(b"]", at + 2)
    if close < 0:
        raise MalformedPattern(glob)
    if close == at + 2 or glob[close - 1 : close] != b":":
        return None
    members = CLASSES.get(glob[at + 2 : close - 1])
    if members is None:
        raise MalformedPattern(glob)
    return frozenset(b"".join(re.findall(members, bytes(range(128))))), close + 1
