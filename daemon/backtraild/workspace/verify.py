"""Checking the store of a workspace, in any thread, while the one that keeps the workspace goes on saving."""

import os
from collections.abc import Callable

from backtraild.state import listed_checkpoints
from backtraild.store import Problem, Verification, verify_repository


def verify(
    folder: str,
    stop: Callable[[], bool] = lambda: False,
    progress: Callable[[int], None] = lambda _: None,
) -> Verification:
    """Read every checkpoint and conversation in a store and check every byte. Damage is told, never raised.

    `stop` is asked again and again and ends the check early; `progress` is told how many objects were checked.
    """
    git_dir = os.path.join(folder, "repo.git")
    table = os.path.join(folder, "state.db")
    if not os.path.isdir(git_dir):
        lost = tuple(sorted(listed_checkpoints(table)))
        problem = Problem(lost, None, f"There is no checkpoint store at {git_dir}.")
        return Verification((), lost, 0, 0, (problem,), 0, complete=True)
    return verify_repository(git_dir, lambda: listed_checkpoints(table), stop, progress)
