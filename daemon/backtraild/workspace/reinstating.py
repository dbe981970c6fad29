"""References that were lost or damaged, written again from what the table beside the store knows of them.

A deletion takes the row before the reference, durably. So a row without its reference is one that was lost. Where
there is no row either, a damaged reference still says that there was a checkpoint, and its commit is searched for; a
missing one says nothing, and may have been deleted.
"""

import contextlib

from backtrail.errors import BacktrailError
from backtraild.state import TableLost
from backtraild.workspace.parts import Parts


def reinstate(parts: Parts) -> list[str]:
    """Write references again whose commits are there; what was done, in sentences."""
    held = {number: parts.store.commit_of(number) for number in parts.store.numbers}
    wanted = {number: commit for number, commit in _rows(parts) if held.get(number) != commit}
    unknown = {number for number, commit in held.items() if commit is None and number not in wanted}
    if unknown:
        wanted |= parts.store.lost_commits(unknown)
    done = [
        f"The reference of checkpoint {number} was lost or damaged and was written again."
        for number, commit in sorted(wanted.items())
        if _reinstated(parts, number, commit)
    ]
    with contextlib.suppress(BacktrailError):
        done += [f"The pin of checkpoint {number} was written again." for number in parts.store.mend_pins()]
    return done


def _reinstated(parts: Parts, number: int, commit: str) -> bool:
    with contextlib.suppress(BacktrailError):  # such as a full disk: it stays damaged, and nothing else is
        return parts.store.reinstate(number, commit)
    return False


def _rows(parts: Parts) -> list[tuple[int, str]]:
    try:
        return parts.index.ids()
    except TableLost:
        return []
