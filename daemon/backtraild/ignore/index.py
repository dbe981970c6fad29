"""Looking a name up among many rules at once: most match none, and must learn so within a microsecond."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from backtraild.ignore.names import NameGlob
from backtraild.ignore.patterns import Route


class Rank(NamedTuple):
    """Which of several matching rules decides: the greatest."""

    source: int
    depth: int
    line: int


class Rule(NamedTuple):
    """A route of a pattern, and what follows for a path that takes it to the end."""

    rank: Rank
    negated: bool
    folders_only: bool
    route: Route


class Index:
    """Rules that look at one name only, found through tables.

    `literals` and `extensions` are tables; `hits_glob` says in one pass whether any of the remaining patterns
    match, and need not be asked unless the name begins with one of `first_bytes` or ends with one of
    `last_bytes`. A caller for whom they all say no is done; `matching` is for the others.
    """

    __slots__ = ("_globs", "entries", "extensions", "first_bytes", "hits_glob", "last_bytes", "literals")

    def __init__(self, entries: Iterable[tuple[NameGlob, Rule]]) -> None:
        self.entries = tuple(entries)
        self.literals: dict[bytes, list[Rule]] = {}
        self.extensions: dict[bytes, list[tuple[bytes, Rule]]] = {}
        self.first_bytes: set[int] = set()
        self.last_bytes: set[int] = set()
        self._globs: list[tuple[NameGlob, Rule]] = []
        for glob, rule in self.entries:
            self._add(glob, rule)
        branches = dict.fromkeys(glob.regex for glob, _ in self._globs)
        self.hits_glob = re.compile(b"|".join(branches), re.DOTALL).fullmatch

    def matching(self, name: bytes) -> Iterator[Rule]:
        """All rules that match the name, in no particular order."""
        yield from self.literals.get(name, ())
        for suffix, rule in self.extensions.get(extension(name), ()):
            if name.endswith(suffix):
                yield rule
        if self.hits_glob(name):
            yield from (rule for glob, rule in self._globs if glob.matches(name))

    def _add(self, glob: NameGlob, rule: Rule) -> None:
        for literal in glob.literals:
            self.literals.setdefault(literal, []).append(rule)
        if glob.cost:
            self._globs.append((glob, rule))
            if len(glob.first) <= len(glob.last):
                self.first_bytes.update(glob.first)
            else:
                self.last_bytes.update(glob.last)
        else:
            for suffix in glob.suffixes:
                self.extensions.setdefault(extension(suffix), []).append((suffix, rule))


def extension(name: bytes) -> bytes:
    """From the last dot on; without a dot some single byte, which is no extension because it has no dot."""
    return name[name.rfind(b".") :]
