"""Messages that were once of interest, and what becomes of them when bytes and words in them are changed."""

import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "fixtures" / "wire-corpus"

_WORDS: tuple[bytes, ...] = (
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'""',
    b"-1",
    b"1e999",
    b"-0.0",
    b"9223372036854775807",
    b"9223372036854775808",
    b"1" + b"0" * 400,
    b'"\\ud800"',
    b'"\\u0000"',
    b'"' + b"x" * 5000 + b'"',
    b"[" * 1200 + b"]" * 1200,
    b'{"a":' * 1200 + b"1" + b"}" * 1200,
    b"NaN",
    b"\xff",
)
_WORD = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?|true|false|null|[\[\]{}:,]')


def messages() -> dict[str, bytes]:
    """All of them, by name."""
    return {path.stem: path.read_bytes() for path in sorted(FOLDER.iterdir())}


def mutated(source: random.Random, corpus: Sequence[bytes]) -> bytes:
    """One of the messages after a few changes."""
    found = source.choice(corpus)
    for _ in range(source.randrange(1, 5)):
        found = source.choice(_CHANGES)(source, found, corpus)
    return found


def _flip(source: random.Random, message: bytes, _: Sequence[bytes]) -> bytes:
    if not message:
        return source.randbytes(1)
    place = source.randrange(len(message))
    return message[:place] + bytes([message[place] ^ (1 << source.randrange(8))]) + message[place + 1 :]


def _cut(source: random.Random, message: bytes, _: Sequence[bytes]) -> bytes:
    return message[: source.randrange(len(message) + 1)]


def _take_out(source: random.Random, message: bytes, _: Sequence[bytes]) -> bytes:
    first, last = sorted(source.randrange(len(message) + 1) for _ in range(2))
    return message[:first] + message[last:]


def _insert(source: random.Random, message: bytes, _: Sequence[bytes]) -> bytes:
    place = source.randrange(len(message) + 1)
    piece = source.choice(_WORDS) if source.random() < 0.5 else source.randbytes(source.randrange(1, 20))
    return message[:place] + piece + message[place:]


def _splice(source: random.Random, message: bytes, corpus: Sequence[bytes]) -> bytes:
    other = source.choice(corpus)
    return message[: source.randrange(len(message) + 1)] + other[source.randrange(len(other) + 1) :]


def _replace_word(source: random.Random, message: bytes, _: Sequence[bytes]) -> bytes:
    """What keeps the message well-formed most of the time, and so gets furthest."""
    found = list(_WORD.finditer(message))
    if not found:
        return message
    chosen = source.choice(found)
    return message[: chosen.start()] + source.choice(_WORDS) + message[chosen.end() :]


_Change = Callable[[random.Random, bytes, Sequence[bytes]], bytes]
_CHANGES: tuple[_Change, ...] = (_flip, _cut, _take_out, _insert, _splice, _replace_word, _replace_word)
