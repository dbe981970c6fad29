"""Restores as text: what would happen, and what has happened."""

from collections.abc import Sequence

from backtrail.cli.characters import visible
from backtrail.cli.render import cells
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count
from backtrail.values import CheckpointSummary, Conflict, RestoreResult

_PLANNED_SHOWN = 20
_DONE_SHOWN = 10


def restore_plan(plan: RestoreResult, screen: Screen) -> str:
    """What a restore would change, before somebody decides."""
    target = _target(plan.checkpoint, screen)
    if not (plan.written or plan.deleted):
        rows = [f"Everything is already as in {target}."]
    else:
        rows = [f"Going back to {target} would"]
        rows += _section("write", "green", plan.written, _PLANNED_SHOWN, screen)
        rows += _section("delete", "red", plan.deleted, _PLANNED_SHOWN, screen)
        if plan.unchanged:
            rows.append(f"  {screen.paint('leave', 'dim')} {_as_they_are(plan.unchanged)}")
    rows += _conflicts(plan.conflicts, "not touch", _PLANNED_SHOWN, screen)
    return cells.together(rows)


def restore_done(result: RestoreResult, screen: Screen) -> str:
    """What a restore or an undo changed, and how to take it back."""
    target = _target(result.checkpoint, screen)
    if not (result.written or result.deleted):
        rows = [f"Everything was already as in {target}; no file was changed."]
    else:
        rows = [f"{screen.paint('Restored', 'green')} {target}:"]
        rows += _section("written", "green", result.written, _DONE_SHOWN, screen)
        rows += _section("deleted", "red", result.deleted, _DONE_SHOWN, screen)
        if result.unchanged:
            rows.append(f"  {screen.paint('unchanged', 'dim')} {count(result.unchanged, 'file')}")
    rows += _conflicts(result.conflicts, "left alone", _DONE_SHOWN, screen)
    if result.safety_checkpoint is not None and (result.written or result.deleted):
        number = result.safety_checkpoint.number
        rows.append(f"The state before it is checkpoint {number}; `backtrail undo` goes back to it.")
    return cells.together(rows)


def _as_they_are(number: int) -> str:
    return f"{count(number, 'file')} as {'it is' if number == 1 else 'they are'}"


def _target(one: CheckpointSummary, screen: Screen) -> str:
    message = screen.cut(visible(one.message.strip().partition("\n")[0]), max(20, screen.width - 50))
    return f"{screen.paint(f'checkpoint {one.number}', 'bold')} ({screen.ago(one.timestamp)}: {message})"


def _section(verb: str, colour: str, items: Sequence[str], shown: int, screen: Screen) -> list[str]:
    if not items:
        return []
    head = f"  {screen.paint(verb, colour)} {count(len(items), 'file')}"
    few = cells.paths(items[:shown], screen.width - 6, screen)
    return [head, *cells.listing(few, len(items), "      ", screen)]


def _conflicts(conflicts: Sequence[Conflict], title: str, shown: int, screen: Screen) -> list[str]:
    if not conflicts:
        return []
    few = [f"{visible(conflict.path)}: {visible(conflict.reason)}" for conflict in conflicts[:shown]]
    head = f"  {screen.paint(title, 'yellow')} {count(len(conflicts), 'path')}"
    return [head, *cells.listing(few, len(conflicts), "      ", screen)]
