r"""Paths as text: UTF-8 as it is, anything else quoted the way git quotes it, always reversible.

A file name is bytes. Nearly all are UTF-8 and are shown unchanged. One that is not is written in double
quotes with octal escapes, ``"caf\351.txt"``; the leading quote is the mark. A UTF-8 name that itself starts
with a double quote is quoted too, so that the mark is never ambiguous.
"""

import re

_ESCAPE = re.compile(rb'\\([0-3][0-7]{2}|[\\"])')


def to_text(path: bytes) -> str:
    """The text form of a path, fit for JSON and for a terminal."""
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return _quoted(path)
    return _quoted(path) if text.startswith('"') else text


def from_text(text: str) -> bytes:
    """The path that `to_text` turned into this text, or that a command line handed over as it is."""
    if not (len(text) >= 2 and text.startswith('"') and text.endswith('"')):
        return text.encode("utf-8", "surrogateescape")
    return _ESCAPE.sub(_unescaped, text[1:-1].encode("utf-8", "surrogateescape"))


def sendable(sentence: str) -> str:
    """A sentence fit for JSON, whatever paths are named in it: what is not UTF-8 is escaped, and stays readable."""
    return sentence.encode("utf-8", "backslashreplace").decode()


def _quoted(path: bytes) -> str:
    escaped = (chr(byte) if 0x20 <= byte < 0x7F and byte not in b'"\\' else f"\\{byte:03o}" for byte in path)
    return f'"{"".join(escaped)}"'


def _unescaped(match: re.Match[bytes]) -> bytes:
    token = match.group(1)
    return bytes([int(token, 8)]) if len(token) == 3 else token
