"""What somebody typed into a search, as words and phrases that must and must not be there. Pure.

Nothing that is typed is an operator but a pair of quotes and a leading minus: each word goes into the full-text
query as a quoted string of its own, so that no input can break it or mean something else.
"""

import re
import unicodedata

from msgspec import Struct

from backtrail.errors import UsageError

WORD_LIMIT = 32
LENGTH_LIMIT = 1000  # a phrase is one word here and many to the index, whose time grows with each of them

_TERM = r'(?P<minus>-?)(?:"(?P<phrase>[^"]*)"?|(?P<word>[^\s"]+))'


class Wanted(Struct, frozen=True):
    """Words and phrases that are all wanted, and those of which none is."""

    present: tuple[str, ...]
    absent: tuple[str, ...]

    @property
    def full_text(self) -> str:
        """As FTS5 wants to be asked."""
        query = " AND ".join(map(_quoted, self.present))
        return " NOT ".join([f"({query})", *map(_quoted, self.absent)])


def wanted(words: str) -> Wanted:
    """Read what was typed. Raises UsageError where nothing in it can be looked for."""
    if len(words) > LENGTH_LIMIT:
        raise UsageError(
            f"What is looked for has {len(words):,} characters; at most {LENGTH_LIMIT:,} can be looked for.",
            "Give a few words that are together in no other place.",
        )
    text = words.encode("utf-8", "replace").decode().replace("\0", " ")
    present: list[str] = []
    absent: list[str] = []
    for term in re.finditer(_TERM, text):
        found = term["word"] if term["phrase"] is None else term["phrase"].strip()
        if _has_letters(found):
            (absent if term["minus"] else present).append(found)
    if not present:
        raise UsageError(
            f"There is no word to look for in {words[:50]!a}.",
            'Give words that must all be there; "quoted words" stand together, -word must not be there.',
        )
    if len(present) + len(absent) > WORD_LIMIT:
        raise UsageError(f"At most {WORD_LIMIT} words can be looked for at a time.")
    return Wanted(tuple(present), tuple(absent))


def _quoted(word: str) -> str:
    return f'"{word}"'  # `_TERM` leaves no quote in a word


def _has_letters(word: str) -> bool:
    """What has neither letters nor digits is nothing to the index, and would match nothing or everything."""
    return any(unicodedata.category(character)[0] in "LN" for character in word)
