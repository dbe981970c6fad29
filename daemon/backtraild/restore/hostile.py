"""Names and types that must never be written to a disk, whatever a checkpoint says."""

from collections.abc import Iterator

from backtrail import pathtext
from backtrail.errors import HostileTree
from backtraild.model import BLOB_MODES, STAGING_PREFIX, Changes, Path, is_dot_git

LONGEST_NAME = 255
LONGEST_TARGET = 4095
_NAMED_IN_A_MESSAGE = 20


def refuse_hostile(changes: Changes) -> None:
    """Raise HostileTree, naming the culprits, unless every path may be written or deleted."""
    problems = list(_problems(changes))
    if problems:
        raise hostile_tree(problems)


def hostile_tree(problems: list[tuple[Path, str]]) -> HostileTree:
    """The error that names these paths, each with what is wrong with it."""
    named = [f"{pathtext.to_text(path)!s} ({why})" for path, why in problems[:_NAMED_IN_A_MESSAGE]]
    more = len(problems) - len(named)
    rest = f", and {more} more" if more else ""
    return HostileTree(
        f"The checkpoint holds what must not be written: {', '.join(named)}{rest}. Nothing was changed.",
        "Restore other paths by naming them, and run `backtrail doctor` to check the store.",
    )


def target_problem(target: bytes) -> str:
    """What is wrong with this symlink target; empty if nothing is."""
    if not target:
        return "a symlink to nowhere"
    if b"\0" in target:
        return "a symlink whose target holds a NUL"
    if len(target) > LONGEST_TARGET:
        return "a symlink whose target is too long"
    return ""


def _problems(changes: Changes) -> Iterator[tuple[Path, str]]:
    fine: set[bytes] = set()
    new = {path for path, change in changes.items() if change.new is not None}
    for path, change in sorted(changes.items()):
        modes = {side.mode for side in (change.old, change.new) if side is not None}
        if not modes <= BLOB_MODES:
            yield path, "not a file, an executable or a symlink"
        elif why := _name_problem(path, fine):
            yield path, why
        elif path in new and _is_below_one_of(path, new):
            yield path, "inside another file"


def _is_below_one_of(path: Path, files: set[Path]) -> bool:
    cut = path.rfind(b"/")
    while cut > 0:
        if path[:cut] in files:
            return True
        cut = path.rfind(b"/", 0, cut)
    return False


def _name_problem(path: Path, fine: set[bytes]) -> str:
    for name in path.split(b"/"):
        if name in fine:
            continue
        why = _component_problem(name)
        if why:
            return why
        fine.add(name)
    return ""


def _component_problem(name: bytes) -> str:
    if name in (b"", b".", b".."):
        return "leads elsewhere"
    if b"\0" in name:
        return "holds a NUL"
    if is_dot_git(name):
        return "is inside a .git"
    if name.startswith(STAGING_PREFIX):
        return "a name that restore uses itself"
    return "a name is too long" if len(name) > LONGEST_NAME else ""
