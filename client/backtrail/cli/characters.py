"""Characters as a terminal treats them: which are harmless, and how many columns they take.

File names, messages and branch names come from anywhere. None of them may move the cursor, change colours, start
a new line or turn the direction of the text around.
"""

import unicodedata
from collections.abc import Iterator

_ZERO_WIDTH_JOINER = "\u200d"
_ZERO_WIDTH_NON_JOINER = "\u200c"
_EMOJI_STYLE = "\ufe0f"
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str, keep: str = "") -> str:
    r"""The text with everything that would steer a terminal written out, as in ``\x1b`` or ``\u202e``."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in keep or _is_harmless(char) else _escaped(char) for char in text
    )


def width(text: str) -> int:
    """How many columns the text takes. It must be visible text without colours."""
    if text.isascii():
        return len(text)
    return max(_steps(text), default=0)


def cut(text: str, room: int, mark: str = "…") -> str:
    """The beginning of the text, with a mark at its end if something is missing."""
    if width(text) <= room:
        return text
    kept = sum(columns <= room - len(mark) for columns in _steps(text))
    return text[:kept] + mark


def cut_start(text: str, room: int, mark: str = "…") -> str:
    """The end of the text, with a mark at its start if something is missing: the file's name tells most."""
    hidden = width(text) - room
    if hidden <= 0:
        return text
    start = sum(columns < hidden + len(mark) for columns in _steps(text)) + 1
    while text[start : start + 1] == _EMOJI_STYLE:  # it would change the mark instead of what was before it
        start += 1
    return mark + text[start:]


def wrapped(text: str, room: int) -> list[str]:
    """The text in lines that fit, broken at spaces; a longer word gets a line of its own."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and width(lines[-1]) + 1 + width(word) > room:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return lines


def pad(text: str, columns: int) -> str:
    """The text with spaces after it."""
    return text + " " * (columns - width(text))


def pad_start(text: str, columns: int) -> str:
    """The text with spaces before it."""
    return " " * (columns - width(text)) + text


def _is_harmless(char: str) -> bool:
    """Joiners are part of emoji and of some scripts; wide spaces, private and newer characters only look odd."""
    if char in (_ZERO_WIDTH_JOINER, _ZERO_WIDTH_NON_JOINER):
        return True
    return unicodedata.category(char) in ("Zs", "Co", "Cn")


def _escaped(char: str) -> str:
    number = ord(char)
    if number > 0xFFFF:
        return f"\\U{number:08x}"
    return _SHORT_ESCAPES.get(char) or (f"\\x{number:02x}" if number <= 0xFF else f"\\u{number:04x}")


def _steps(text: str) -> Iterator[int]:
    """How many columns are taken after each character."""
    columns, before = 0, ""
    for char in text:
        columns += _columns(char, before, columns)
        before = char
        yield columns


def _columns(char: str, before: str, so_far: int) -> int:
    if before == _ZERO_WIDTH_JOINER or (char in _SKIN_TONES and so_far):
        return 0  # drawn together with what is before it
    if char == _EMOJI_STYLE:
        return 1 if before and unicodedata.east_asian_width(before) not in "WF" else 0
    if unicodedata.category(char) in ("Mn", "Me", "Cf") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
