"""Which paths of a workspace are captured. Decisions only: no disk is read, contents come in as bytes.

`FolderRules.for_root()` gives the rules at the top; on the way down, `with_files` adds what a folder's own
ignore files say, `excludes` answers for each child, and `child` gives the rules of a subfolder:

    rules = FolderRules.for_root(patterns).with_files(gitignore, backtrailignore)
    if not rules.excludes(b"src", is_folder=True):
        inside = rules.child(b"src")

A caller never descends into an excluded folder, so nothing in it can be taken back in: git's rule, and the
reason why no kernel watch is spent on `node_modules`. The language is git's own; EXCLUDES.md has the details.

    tokens    the text of a glob, as tokens
    names     a glob for one name, matched in bounded time
    patterns  lines of a file, as routes through folders
    index     one name looked up among many rules
    rules     the rules in force in a folder
    defaults  what is left out everywhere
"""

from backtraild.ignore.defaults import DEFAULT_PATTERNS
from backtraild.ignore.patterns import TooManyWildcards
from backtraild.ignore.rules import FolderRules, RulesOf
from backtraild.ignorefiles import BACKTRAILIGNORE, GITIGNORE, IGNORE_FILES

__all__ = [
    "BACKTRAILIGNORE",
    "DEFAULT_PATTERNS",
    "GITIGNORE",
    "IGNORE_FILES",
    "FolderRules",
    "RulesOf",
    "TooManyWildcards",
]
