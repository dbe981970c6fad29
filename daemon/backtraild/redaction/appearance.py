"""Does a value look drawn at random, like a password, or like something else? Decisions on bytes alone."""

import math
import re
from collections import Counter

_CLASSES = bytes(
    ord("a") if 97 <= byte <= 122 else ord("A") if 65 <= byte <= 90 else ord("0") if 48 <= byte <= 57 else 45
    for byte in range(256)
)
# "Aa" is left out: it is how a word in camel case begins.
_CHANGES = (b"a0", b"0a", b"A0", b"0A", b"aA")
_CHANGES_PER_BYTE = 0.1
_CAPITALS_PER_BYTE = 0.08
_LONG = 20
_ENTROPY_LONG, _ENTROPY_SHORT = 3.0, 2.5
_RANDOM_SEGMENT = 16
_RANDOM_WORD = 10
_SHORTEST_PASSWORD = 6
# Random text of some length has any short word in it somewhere.
_LOOKED_AT = 64

_UUID = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OTHER = re.compile(_UUID.pattern + rb"|v?[0-9]+(?:\.[0-9]+)+")
_REFERENCE = re.compile(
    rb"\$\{|\$\(|\$[A-Za-z_][A-Za-z0-9_]*$|%[A-Za-z_]+%$|%\(|<[^>]*>?$|#?\{\w*\}|\{\{|\[REDACTED:"
    rb"|@[A-Za-z]+@$|!(?:vault|secret|env)"
)
_STANDS_FOR = re.compile(
    rb"(?i)example|change.?me|change.?it|place.?holder|dummy|redacted|sample|foobar|(?-i:fake|FAKE|todo|TODO)|not[_-]?a[_-]?real"
    rb"|your[_\- ]|your(?:api|key|token|secret|pass|own|name|client)|test[_-]?(?:key|token|secret|pass)"
    rb"|insert[_-]|replace[_-]|(?-i:x{4}|X{4})|\*{3}|\.{3}|\xe2\x80\xa6|0{8}|1234567890"
)
_PATH = re.compile(rb"(?:[A-Za-z]:)?(?:\.{0,2}|~)[/\\]|[A-Za-z][A-Za-z0-9+.\-]*://")
_FILE = re.compile(rb"[\w./\\\-]*\.[A-Za-z]{2,5}")
_EXPRESSION = re.compile(rb"[A-Za-z_]\w*(?:(?:\.|::|->|\?\.)[A-Za-z_]\w*)+")
_PARTS = re.compile(rb"[/\\.:>?]")
_IDENTIFIER = re.compile(rb"[A-Za-z_\-]+[0-9]?")
_WORDS = re.compile(rb"[A-Za-z]+(?:[_\-.:/ ][A-Za-z]+)*")
_DIGIT, _LETTER, _SYMBOL = (
    re.compile(rb"[0-9]"),
    re.compile(rb"[A-Za-z\x80-\xff]"),
    re.compile(rb"[!@#$%^&*?+=~]"),
)


def stands_for_something(value: bytes) -> bool:
    """A reference to a variable, a placeholder, an example from a manual: nothing that opens a door."""
    return bool(_REFERENCE.match(value) or _STANDS_FOR.search(value, 0, _LOOKED_AT)) or len(set(value)) < 4


def is_random(value: bytes, least: int) -> bool:
    """At least this long, and more disorderly than words, paths, dates and versions are."""
    if len(value) < least or _UUID.fullmatch(value):
        return False
    parts = [value]
    if _PATH.match(value) or _EXPRESSION.fullmatch(value):
        parts = [part for part in _PARTS.split(value) if len(part) >= _RANDOM_SEGMENT]
    # In this order: a hostile line has a value at every sixth byte, and looking for words in it is slow.
    return any(map(_is_disorderly, parts)) and not stands_for_something(value)


def is_password(value: bytes, *, certain: bool) -> bool:
    """A person may have chosen it. `certain` says that it stands where only a value can stand.

    An unquoted word could as well be the name of a variable.
    """
    if len(value) < _SHORTEST_PASSWORD or stands_for_something(value) or _OTHER.fullmatch(value):
        return False
    if (
        _PATH.match(value)
        or _FILE.fullmatch(value)
        or _EXPRESSION.fullmatch(value)
        or _WORDS.fullmatch(value)
    ):
        return is_random(value, _RANDOM_SEGMENT)
    if not certain and (_IDENTIFIER.fullmatch(value) or not _LETTER.search(value)):
        return is_random(value, _RANDOM_WORD)
    return bool(_DIGIT.search(value) or _SYMBOL.search(value))


def _is_disorderly(value: bytes) -> bool:
    classes = value.translate(_CLASSES)
    if not (_has_scattered_digits(classes) or _has_scattered_capitals(classes)):
        return False
    return _entropy(value) >= (_ENTROPY_LONG if len(value) >= _LONG else _ENTROPY_SHORT)


def _has_scattered_digits(classes: bytes) -> bool:
    changes = sum(classes.count(pair) for pair in _CHANGES)
    return classes.count(b"0") >= 2 and changes >= len(classes) * _CHANGES_PER_BYTE


def _has_scattered_capitals(classes: bytes) -> bool:
    """Capitals side by side as well as after small letters: in camel case there are only the latter."""
    return (
        classes.count(b"aA") >= len(classes) * _CAPITALS_PER_BYTE
        and classes.count(b"AA") > len(classes) // 20
    )


def _entropy(value: bytes) -> float:
    """Bits per byte, after Shannon."""
    size = len(value)
    return -sum(count / size * math.log2(count / size) for count in Counter(value).values())
