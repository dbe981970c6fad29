"""Who changed which paths: the changes of checkpoints, divided by the turns in which they were made. Pure."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from msgspec import Struct

from backtraild.model import Checkpoint, Path
from backtraild.sessions import Turn

BEFORE_TURN = "before_turn"  # metadata of a checkpoint that was made because a turn began


class Step(Struct, frozen=True):
    """What one checkpoint changed; without a number and a time, what is not saved yet. `session` is for whom it
    was made; nobody for one that was made because a turn began, and holds what came before."""

    paths: frozenset[Path]
    number: int | None = None
    time: datetime | None = None
    session: str | None = None


def step(checkpoint: Checkpoint, paths: Iterable[Path]) -> Step:
    """What a checkpoint changed."""
    session = None if BEFORE_TURN in checkpoint.metadata else checkpoint.session
    return Step(frozenset(paths), checkpoint.number, checkpoint.timestamp, session)


def divided(
    session: str, steps: Sequence[Step], turns: Sequence[tuple[str, Turn]]
) -> tuple[frozenset[Path], frozenset[Path]]:
    """The paths that a session changed, and those that others changed; what both may have changed is in both.

    A checkpoint that was made for a session is its own. Any other belongs to every session that had a turn under
    way, and to somebody else where there was none.
    """
    ours: set[Path] = set()
    others: set[Path] = set()
    for step in steps:
        authors = _authors(step, turns)
        if session in authors:
            ours |= step.paths
        if authors != {session}:
            others |= step.paths
    return frozenset(ours), frozenset(others)


def _authors(step: Step, turns: Sequence[tuple[str, Turn]]) -> set[str]:
    if step.session is not None:
        return {step.session}
    return {session for session, turn in turns if _was_under_way(turn, step)}


def _was_under_way(turn: Turn, step: Step) -> bool:
    """Was it when this was changed? One that was interrupted has a time in the place of its last checkpoint."""
    if step.number is None or step.time is None:
        return turn.ended is None
    if turn.before is None or step.number <= turn.before:
        return False
    return (
        step.number <= turn.after if turn.after is not None else turn.ended is None or step.time <= turn.ended
    )
