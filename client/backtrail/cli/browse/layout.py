"""Text in rows that fit a window. Pure: styles are names here, and nothing that steers a terminal is left in."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from backtrail.cli.characters import cut, visible, width, wrapped
from backtrail.cli.spoken import spoken
from backtrail.cli.words import count

# A file that was read aloud into the conversation is not what somebody looks for here.
LONGEST_MESSAGE = 20_000
_ROLES = {"user": "green", "assistant": "cyan", "system": "dim"}
_INDENT = "  "


class Piece(NamedTuple):
    """Some text in one style: bold, dim, reverse, the name of a colour, or none."""

    text: str
    style: str = ""


Row = tuple[Piece, ...]


def row(text: str, style: str = "") -> Row:
    """A row that is all in one style."""
    return (Piece(text, style),)


def fitted(pieces: Row, columns: int, mark: str) -> Row:
    """As much of a row as there is room for."""
    found: list[Piece] = []
    for text, style in pieces:
        room = columns - sum(width(piece.text) for piece in found)
        if room <= 0:
            break
        found.append(Piece(cut(text, room, mark), style))
    return tuple(found)


def paragraphs(text: str, columns: int) -> list[str]:
    """A text of several lines in lines that fit; words without an end are broken too."""
    lines = text.strip("\n").split("\n") if text else []
    return [
        piece
        for line in lines
        for words in wrapped(visible(line.expandtabs(4)), columns)
        for piece in _broken(words, columns)
    ]


def messages(said: Sequence[Any], first: int, columns: int) -> tuple[Row, ...]:
    """Messages under each other: who, the number of the message, and the text set in."""
    rows: list[Row] = []
    for number, message in enumerate(said, first + 1):
        role, text = spoken(message)
        style = _ROLES.get(role, "magenta")
        rows += [(Piece(visible(role), style), Piece(f" {number:,}", "dim")), *_said(text, columns), row("")]
    return tuple(rows)


def _said(text: str, columns: int) -> Iterable[Row]:
    room = max(columns - len(_INDENT), 1)
    yield from (row(_INDENT + line) for line in paragraphs(text[:LONGEST_MESSAGE], room))
    if len(text) > LONGEST_MESSAGE:
        left = count(len(text) - LONGEST_MESSAGE, "more character")
        yield row(f"{_INDENT}({left})", "dim")


def _broken(line: str, columns: int) -> list[str]:
    """A line in pieces that fit; it is looked at in short stretches, because it may be very long."""
    if width(line) <= columns:
        return [line]
    found, start = [], 0
    while start < len(line):
        piece = cut(line[start : start + columns], columns, "") or line[start]
        found.append(piece)
        start += len(piece)
    return found
