"""How far a conversation agrees with the generation that was recorded last."""

from collections.abc import Iterator
from itertools import chain

from msgspec import Struct

from backtrail.errors import StoreDamaged
from backtraild.transcripts.intake import Intake
from backtraild.transcripts.layout import Layout


class Agreement(Struct, frozen=True):
    """The first `count` messages are the same. All chunks before the line `kept` stay as they are.

    `rest` are the lines from there on: those that agree but whose chunk is written again, then those that are new.
    """

    count: int
    kept: int
    rest: Iterator[bytes]
    is_new: bool  # anything at all differs: something is added, changed or gone
    sound: bool = True  # without it, what is in the store must not be relied on


def nothing(lines: Iterator[bytes]) -> Agreement:
    """A conversation that was not recorded before."""
    return Agreement(0, 0, lines, is_new=True)


def extended(newest: Layout, lines: Iterator[bytes]) -> Agreement:
    """A conversation of which only the lines after the end of the generation are at hand."""
    count = newest.facts.message_count
    following = next(lines, None)
    if following is None:
        return Agreement(count, count, lines, is_new=False)
    kept, again = newest.tail()
    return Agreement(count, kept, chain(again, [following], lines), is_new=True)


def compared(newest: Layout, lines: Intake) -> Agreement:
    """A conversation that is at hand from its first line on. One chunk is in memory at a time."""
    done = 0
    try:
        for first, stored in newest.pieces():
            same, following = _same(stored, lines)
            if len(same) < len(stored):
                rest = chain(same, lines if following is None else chain([following], lines))
                return Agreement(first + len(same), first, rest, is_new=True)
            done = first + len(stored)
    except StoreDamaged:
        # The conversation is at hand: it is stored again from here on, as if it had changed.
        return Agreement(done, done, lines, is_new=True, sound=False)
    return extended(newest, lines)


def _same(stored: list[bytes], lines: Intake) -> tuple[list[bytes], bytes | None]:
    """The lines at the beginning that agree, and the first that does not; None if there is none."""
    for at, expected in enumerate(stored):
        line = lines.following(expected)
        if line != expected:
            return stored[:at], line
    return stored, None
