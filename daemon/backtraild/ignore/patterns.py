"""Reading patterns: a file's bytes become lines, a line becomes the routes by which a path can match it.

A route is a sequence of steps, one per name of the path, top down; the step None stands for any number of
names, also for none. So a pattern is never matched against a path as one long text.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from backtraild.ignore.names import NameGlob, can_match
from backtraild.ignore.tokens import BACKSLASH, MalformedPattern, Mark, Token, name_tokens, path_tokens

_BOM = b"\xef\xbb\xbf"
_SPACE = ord(" ")

Step = NameGlob | None
Route = tuple[Step, ...]
_Draft = list[Sequence[Token] | None]  # a route whose steps are still tokens


# Every name that is looked at is compared with all of these: with more, a look would take hours. Names without
# wildcards, and `*.ext`, are found through tables, and do not count.
MAX_COST = 64 * 1024


class TooManyWildcards(ValueError):
    """An ignore file has more patterns with wildcards in them than any project needs."""


class Pattern(Struct, frozen=True):
    """One line of an ignore file; without routes it matches nothing."""

    negated: bool
    folders_only: bool
    routes: tuple[Route, ...]

    @property
    def cost(self) -> int:
        """What it takes to compare names with its steps, all of them together."""
        return sum(step.cost for route in self.routes for step in route if step is not None)


def read_patterns(content: bytes) -> Iterator[tuple[int, Pattern]]:
    """The patterns of an ignore file with their line numbers, without those that match nothing.

    Raises TooManyWildcards as soon as there are too many.
    """
    cost = 0
    for number, raw in enumerate(content.removeprefix(_BOM).split(b"\n"), start=1):
        line = raw.removesuffix(b"\r").partition(b"\0")[0]  # to git, a NUL ends the line's text
        if line.startswith(b"#"):
            continue
        try:
            pattern = read_pattern(line)
        except MalformedPattern:
            continue
        if pattern.routes:
            cost += pattern.cost
            if cost > MAX_COST:
                raise TooManyWildcards(f"more than {MAX_COST:,} characters of patterns with wildcards")
            yield number, pattern


@lru_cache(maxsize=4096)  # the ignore files of a workspace have much in common: node_modules, dist, *.log
def read_pattern(line: bytes) -> Pattern:
    """The pattern on one line. Raises MalformedPattern where a bracket or an escape is left open."""
    text = _without_trailing_spaces(line)
    negated = text.startswith(b"!")
    glob = text[negated:]
    folders_only = glob.endswith(b"/")
    glob = glob.removesuffix(b"/")
    # Any slash anchors, also an escaped one or one inside a bracket: git looks for the byte alone.
    drafts: list[_Draft] = _anchored(glob) if b"/" in glob else [[None, name_tokens(glob)]]
    return Pattern(negated, folders_only, tuple(_compiled(drafts)))


def _without_trailing_spaces(line: bytes) -> bytes:
    kept = at = 0
    while at < len(line):
        escape = line[at] == BACKSLASH
        blank = line[at] == _SPACE
        at += 2 if escape else 1
        kept = kept if blank else at
    return line[:kept]


def _anchored(glob: bytes) -> list[_Draft]:
    """The routes of a pattern that is bound to its folder: one, or two for the `foo**/bar` of path_tokens."""
    tokens = path_tokens(glob.removeprefix(b"/"))
    fork = tokens.index(Mark.DEPTH_SLASH) if Mark.DEPTH_SLASH in tokens else 0
    if not fork or isinstance(tokens[fork - 1], Mark):
        return [_lay(tokens)]
    # A name has begun before this `**/`: either it goes on behind it, or anything up to a slash lies between.
    after = next((at for at in range(fork, len(tokens)) if tokens[at] is not Mark.DEPTH_SLASH), len(tokens))
    begun, rest = tokens[:fork], tokens[after:]
    return [_lay([*begun, *rest]), _lay([*begun, Mark.DEPTH, Mark.SLASH, *rest])]


def _lay(tokens: Sequence[Token]) -> _Draft:
    draft: _Draft = []
    name: list[Token] = []
    ended = False  # just behind a DEPTH, whose own slash, if any, is already accounted for
    for token in tokens:
        if token is Mark.DEPTH:
            draft += [[*name, Mark.STAR], None]
        elif token is Mark.DEPTH_SLASH:
            draft.append(None)
        elif token is not Mark.SLASH:
            name.append(token)
        elif not ended:
            draft.append(name)
        if isinstance(token, Mark) and token is not Mark.STAR:
            name = []
        ended = token is Mark.DEPTH
    return draft if ended else [*draft, name]


def _compiled(drafts: Sequence[_Draft]) -> Iterator[Route]:
    for draft in drafts:
        if all(name is None or can_match(name) for name in draft):
            steps = [None if name is None else NameGlob(name) for name in draft]
            yield tuple(step for at, step in enumerate(steps) if step or not at or steps[at - 1])
