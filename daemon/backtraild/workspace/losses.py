"""How much of one state is missing from the next: what a mass deletion or rewrite takes away."""

from collections import Counter

from backtraild.model import Changes


def count(changes: Changes) -> tuple[int, int]:
    """How many files were deleted and how many got other content; one that was moved is neither."""
    arrived = Counter(change.new.oid for change in changes.values() if change.new and not change.old)
    deleted = rewritten = 0
    for change in changes.values():
        if change.old is None:
            continue
        if change.new is not None:
            rewritten += change.new.oid != change.old.oid
        elif arrived[change.old.oid]:
            arrived[change.old.oid] -= 1
        else:
            deleted += 1
    return deleted, rewritten
