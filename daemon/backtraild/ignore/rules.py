"""The rules in force in one folder, and how they change on the way down; the only door to this package.

Rules without an anchor apply to names in any folder and sit in indexes that whole subtrees share. An anchored
rule is a route, followed name by name on the way down, so a folder only carries the routes that are still
open there: usually none.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntEnum
from functools import lru_cache

from backtrail.errors import UsageError
from backtraild.ignore.defaults import DEFAULT_PATTERNS
from backtraild.ignore.index import Index, Rank, Rule
from backtraild.ignore.names import NameGlob
from backtraild.ignore.patterns import Pattern, TooManyWildcards, read_pattern, read_patterns
from backtraild.ignore.tokens import MalformedPattern, Mark
from backtraild.model import STAGING_PREFIX

# Where restore stages its files before it renames them: capturing them would put half a restore on record.
_GUARDS = (b".git", STAGING_PREFIX + b"*")


class _Source(IntEnum):
    """Who wrote a rule. The first source with any match decides, the greatest first."""

    DEFAULTS = 0
    GITIGNORE = 1
    BACKTRAILIGNORE = 2
    WORKSPACE = 3
    GUARD = 4


_EVERY_NAME = NameGlob([Mark.STAR])
# A file of a hundred thousand lines takes seconds to be understood: it is understood once.
_LONG = 16 * 1024

# An anchored rule, and the step of its route that the children of the present folder would have to take.
_Walk = tuple[Rule, int]


RulesOf = Callable[[bytes], "FolderRules"]
"""Who knows the rules in any folder of a workspace, by its path."""


class FolderRules:
    """The rules for the direct children of one folder. Immutable; `child` leads down."""

    __slots__ = ("_indexes", "_shared", "_walks", "folder")

    def __init__(self, folder: bytes, shared: tuple[Index, ...], walks: tuple[_Walk, ...]) -> None:
        self.folder = folder
        self._shared = shared
        self._walks = walks
        self._indexes = (*shared, *_index_of_last_steps(walks)) if walks else shared

    @classmethod
    def for_root(
        cls, patterns: Sequence[str | bytes] = (), defaults: Sequence[bytes] = DEFAULT_PATTERNS
    ) -> "FolderRules":
        """The rules at the top of a workspace, before its ignore files are read.

        Raises UsageError for a pattern of the workspace that could never match.
        """
        own = (_workspace_pattern(pattern) for pattern in patterns)
        rules = [
            *_rules(read_patterns(b"\n".join(_GUARDS)), _Source.GUARD, 0),
            *_rules(enumerate(own), _Source.WORKSPACE, 0),
            *_rules(read_patterns(b"\n".join(defaults)), _Source.DEFAULTS, 0),
        ]
        return cls(b"", (), ())._with(rules)

    def with_files(self, gitignore: bytes | None, backtrailignore: bytes | None) -> "FolderRules":
        """The rules once the folder's own ignore files are known; None for a file that is not there.

        Raises TooManyWildcards where asking them would take for ever.
        """
        if len(gitignore or b"") + len(backtrailignore or b"") < _LONG:
            return self._with_files(gitignore, backtrailignore)
        found = _with_long_files(self.folder, self._shared, self._walks, gitignore, backtrailignore)
        if isinstance(found, TooManyWildcards):
            raise found.with_traceback(None)
        return found

    def excludes(self, name: bytes, is_folder: bool) -> bool:
        """Is the child of that name left out, with all that is in it?

        A symlink is not a folder, whatever it points to. A crawl asks this for every entry it sees: a few
        lookups answer for the many names that no rule matches.
        """
        tail = name[name.rfind(b".") :]  # extension(name), without the price of a call
        for index in self._indexes:
            if (
                name in index.literals
                or tail in index.extensions
                or ((name[0] in index.first_bytes or name[-1] in index.last_bytes) and index.hits_glob(name))
            ):
                return self._decide(name, is_folder)
        return False

    def suspects(self, names: Iterable[bytes]) -> list[bytes]:
        """Those of the names for which `excludes` has to be asked, found at a quarter of its price: mostly none."""
        found: list[bytes] = []
        for index in self._indexes:
            literals, extensions = index.literals, index.extensions
            first_bytes, last_bytes = index.first_bytes, index.last_bytes
            found += [
                name
                for name in names
                if name in literals
                or name[name.rfind(b".") :] in extensions
                or name[0] in first_bytes
                or name[-1] in last_bytes
            ]
        return found

    def child(self, name: bytes) -> "FolderRules":
        """The rules for a subfolder, before its own ignore files are read."""
        folder = self.folder + b"/" + name if self.folder else name
        return FolderRules(folder, self._shared, _advanced(self._walks, name) if self._walks else ())

    def _decide(self, name: bytes, is_folder: bool) -> bool:
        matching = (rule for index in self._indexes for rule in index.matching(name))
        relevant = (rule for rule in matching if is_folder or not rule.folders_only)
        winner = max(relevant, key=_rank, default=None)
        return winner is not None and not winner.negated

    def _with_files(self, gitignore: bytes | None, backtrailignore: bytes | None) -> "FolderRules":
        depth = self.folder.count(b"/") + 1 if self.folder else 0
        rules = [
            *_rules(read_patterns(gitignore or b""), _Source.GITIGNORE, depth),
            *_rules(read_patterns(backtrailignore or b""), _Source.BACKTRAILIGNORE, depth),
        ]
        return self._with(rules) if rules else self

    def _with(self, rules: Sequence[Rule]) -> "FolderRules":
        names = [(glob, rule) for rule in rules if (glob := _name_in_any_folder(rule))]
        walks = [walk for rule in rules if not _name_in_any_folder(rule) for walk in _standing(rule, 0)]
        shared = self._shared
        if not self.folder and shared:
            # At the root, one larger index: nearly every lookup of a crawl goes there and nowhere else.
            # Further down, an index of its own: copying the root's for each of a thousand folders is slow.
            shared = (Index([*shared[0].entries, *names]),)
        elif names:
            shared = (*shared, Index(names))
        return FolderRules(self.folder, shared, (*self._walks, *walks))


@lru_cache(maxsize=4)  # every look at the folder reads its files again, and few folders have long ones
def _with_long_files(
    folder: bytes,
    shared: tuple[Index, ...],
    walks: tuple[_Walk, ...],
    gitignore: bytes | None,
    backtrailignore: bytes | None,
) -> FolderRules | TooManyWildcards:
    try:
        return FolderRules(folder, shared, walks)._with_files(gitignore, backtrailignore)
    except (
        TooManyWildcards
    ) as error:  # remembered as well: a folder that is shut is tried again every few seconds
        return TooManyWildcards(*error.args)


def _workspace_pattern(pattern: str | bytes) -> Pattern:
    """A pattern that somebody typed: one that can match nothing is a mistake, which a file may contain."""
    text = os.fsencode(pattern)
    shown = os.fsdecode(text)
    if b"\0" in text or b"\n" in text:
        raise UsageError(
            f"The exclude pattern {shown!r} has a NUL or a line break in it.", "Give one pattern each."
        )
    if text.startswith(b"#"):
        raise UsageError(
            f"The exclude pattern {shown!r} is a comment.", f"Write \\{shown} to mean the character #."
        )
    try:
        found = read_pattern(text)
    except MalformedPattern:
        hint = "Close the bracket, or write a backslash before a [ or \\ that is meant literally."
        raise UsageError(f"The exclude pattern {shown!r} has an open bracket or escape.", hint) from None
    if not found.routes:
        raise UsageError(
            f"The exclude pattern {shown!r} can match no file.",
            "Write it as in a .gitignore, for example *.log or /out/.",
        )
    return found


def _rules(patterns: Iterable[tuple[int, Pattern]], source: _Source, depth: int) -> Iterator[Rule]:
    for line, pattern in patterns:
        rank = Rank(source, depth, line)
        for route in pattern.routes:
            yield Rule(rank, pattern.negated, pattern.folders_only, route)


def _rank(rule: Rule) -> Rank:
    return rule.rank


def _name_in_any_folder(rule: Rule) -> NameGlob | None:
    """The name that the rule looks for, if it does not care where: `*.log`, but also `**/logs`."""
    return rule.route[1] if len(rule.route) == 2 and rule.route[0] is None else None


def _standing(rule: Rule, at: int) -> Iterator[_Walk]:
    """All places where a rule stands that has come to this step: a `**` may also lie behind it already."""
    for step in range(at, len(rule.route)):
        yield rule, step
        if rule.route[step] is not None:
            return


def _advanced(walks: Sequence[_Walk], name: bytes) -> tuple[_Walk, ...]:
    """Where the rules stand inside the folder of that name; a rule that cannot lead there is gone."""
    # A rule can reach a step in several ways and is carried once, or `**/a/**/a/**/a` would multiply.
    reached: dict[tuple[int, int], _Walk] = {}
    for rule, at in walks:
        step = rule.route[at]
        if step is None or step.matches(name):
            for walk in _standing(rule, at if step is None else at + 1):
                reached[id(rule), walk[1]] = walk
    return tuple(reached.values())


def _index_of_last_steps(walks: Sequence[_Walk]) -> Iterator[Index]:
    entries = [(glob, rule) for rule, at in walks if (glob := _last_step(rule, at))]
    if entries:
        yield Index(entries)


def _last_step(rule: Rule, at: int) -> NameGlob | None:
    """What a child's name must match for the rule to apply to it, if the route can end with that child."""
    step, rest = rule.route[at], rule.route[at + 1 :]
    if step is None:
        return None if rest else _EVERY_NAME
    return step if not rest or rest == (None,) else None
