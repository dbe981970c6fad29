"""Matching one name, never a path, in time that no pattern can blow up.

Most patterns are plain names or `*.ext`: those are kept as literals, so that a table can find them. The rest
becomes a regular expression in which each `*` takes the first place that fits and never comes back.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import product

from backtraild.ignore.tokens import ANY_BYTE, Mark, Token

# No system has longer names, so a longer pattern can match none, and is not worth compiling.
LONGEST_NAME = 4096
# `[Bb]in` and `*.py[cod]` are a few literals; `[a-z][a-z]` is better left a pattern.
_MAX_LITERALS = 16


class NameGlob:
    """A pattern for one name: a few `literals`, or a star and a few `suffixes`, or else a `regex`."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tuple(tokens)
        starred = Mark.STAR in self._tokens
        self.literals = () if starred else _spell(self._tokens)
        self.suffixes = _spell(self._tokens[1:]) if starred and self._tokens[0] is Mark.STAR else ()

    def matches(self, name: bytes) -> bool:
        """Does the whole name match?"""
        if self.literals:
            return name in self.literals
        if self.suffixes:
            return name.endswith(self.suffixes)
        return self._compiled.fullmatch(name) is not None

    @property
    def cost(self) -> int:
        """What a comparison with a name takes, as the pattern's length; nothing where a table finds it."""
        is_listed = self.literals or (self.suffixes and all(b"." in suffix for suffix in self.suffixes))
        return 0 if is_listed else len(self._tokens)

    @property
    def first(self) -> bytes:
        """The bytes that a name can begin with."""
        return _allowed(self._tokens[0])

    @property
    def last(self) -> bytes:
        """The bytes that a name can end with."""
        return _allowed(self._tokens[-1])

    @cached_property
    def regex(self) -> bytes:
        """The pattern for `fullmatch` with DOTALL, fit to be one branch of a larger expression."""
        head, *chunks = _chunks(self._tokens)
        if not chunks:
            return head
        *middle, tail = chunks
        # What stands between two stars has a fixed length, so its first occurrence is as good as any later
        # one: the atomic group keeps it, and the work stays length of name x length of pattern.
        return head + b"".join(b"(?>.*?" + chunk + b")" for chunk in middle) + b".*" + tail

    @cached_property
    def _compiled(self) -> re.Pattern[bytes]:
        return re.compile(self.regex, re.DOTALL)


def can_match(tokens: Sequence[Token]) -> bool:
    """Is there any name at all that fits: not empty, not too long, no empty set of bytes?"""
    fixed = sum(token is not Mark.STAR for token in tokens)
    return bool(tokens) and fixed <= LONGEST_NAME and b"" not in tokens


def _allowed(token: Token) -> bytes:
    return token if isinstance(token, bytes) else ANY_BYTE


def _spell(tokens: Sequence[Token]) -> tuple[bytes, ...]:
    """All names that the tokens stand for, if they are few; otherwise nothing."""
    count = 1
    for token in tokens:
        count *= len(token) if isinstance(token, bytes) else _MAX_LITERALS + 1
        if count > _MAX_LITERALS:
            return ()
    return tuple(bytes(name) for name in product(*(token for token in tokens if isinstance(token, bytes))))


def _chunks(tokens: Sequence[Token]) -> list[bytes]:
    """Regular expressions for what stands before, between and after the stars."""
    chunks: list[list[bytes]] = [[]]
    for token in tokens:
        if isinstance(token, bytes):
            chunks[-1].append(_one_byte(token))
        elif not (len(chunks) > 1 and not chunks[-1]):  # two stars in a row are one
            chunks.append([])
    return [b"".join(chunk) for chunk in chunks]


def _one_byte(allowed: bytes) -> bytes:
    if allowed == ANY_BYTE:
        return b"."
    if len(allowed) == 1:
        return re.escape(allowed)
    return b"[" + b"".join(b"\\x%02x-\\x%02x" % ends for ends in _ranges(allowed)) + b"]"


def _ranges(allowed: bytes) -> Iterator[tuple[int, int]]:
    """Sorted bytes as first and last of each run: spelled out, `[a-z]` a thousand times takes seconds to compile."""
    first = last = allowed[0]
    for byte in allowed[1:]:
        if byte != last + 1:
            yield first, last
            first = byte
        last = byte
    yield first, last
