"""Restores as text: what would happen, and what has happened."""

from collections.abc import Sequence

from backtrail.cli.characters import visible
from backtrail.cli.render import cells
from backtrail.cli.terminal import Screen
from backtrail.cli.words import count
from backtrail.values import CheckpointSummary, Conflict, RestoreResult

_PLANNED_SHOWN = 20
_DONE_SHOWN = 10


def restore_plan(plan: RestoreResult, screen: Screen, *, with_conversation: bool = False) -> str:
    """What a restore would change, before somebody decides."""
    target = _target(plan.checkpoint, screen)
    if not (plan.written or plan.deleted):
        rows = [f"Everything is already as in {target}."]
    else:
        rows = [f"Going back to {target} would"]
        rows += section("write", "green", plan.written, _PLANNED_SHOWN, screen)
        rows += section("delete", "red", plan.deleted, _PLANNED_SHOWN, screen)
        if plan.unchanged:
            rows.append(f"  {screen.paint('leave', 'dim')} {_as_they_are(plan.unchanged)}")
    if with_conversation:
        rows.append("The conversation would go back to the turn that ended with it.")
    rows += conflicts(plan.conflicts, "not touch", _PLANNED_SHOWN, screen)
    return cells.together(rows)


def restore_done(result: RestoreResult, screen: Screen) -> str:
    """What a restore or an undo changed, and how to take it back."""
    target = _target(result.checkpoint, screen)
    if not (result.written or result.deleted):
        rows = [f"Everything was already as in {target}; no file was changed."]
    else:
        rows = [f"{screen.paint('Restored', 'green')} {target}:"]
        rows += section("written", "green", result.written, _DONE_SHOWN, screen)
        rows += section("deleted", "red", result.deleted, _DONE_SHOWN, screen)
        if result.unchanged:
            rows.append(f"  {screen.paint('unchanged', 'dim')} {count(result.unchanged, 'file')}")
    talk = _conversation(result.result)
    rows += talk
    rows += conflicts(result.conflicts, "left alone", _DONE_SHOWN, screen)
    if result.safety_checkpoint is not None and (result.written or result.deleted or talk):
        number = result.safety_checkpoint.number
        rows.append(f"The state before it is checkpoint {number}; `backtrail undo` goes back to it.")
    return cells.together(rows)


def section(verb: str, colour: str, items: Sequence[str], shown: int, screen: Screen) -> list[str]:
    """How many files, and the first of them."""
    if not items:
        return []
    head = f"  {screen.paint(verb, colour)} {count(len(items), 'file')}"
    few = cells.paths(items[:shown], screen.width - 6, screen)
    return [head, *cells.listing(few, len(items), "      ", screen)]


def conflicts(found: Sequence[Conflict], title: str, shown: int, screen: Screen) -> list[str]:
    """Paths that are left alone, with the reason for each."""
    if not found:
        return []
    few = [f"{visible(conflict.path)}: {visible(conflict.reason)}" for conflict in found[:shown]]
    head = f"  {screen.paint(title, 'yellow')} {count(len(found), 'path')}"
    return [head, *cells.listing(few, len(found), "      ", screen)]


def _as_they_are(number: int) -> str:
    return f"{count(number, 'file')} as {'it is' if number == 1 else 'they are'}"


def _conversation(made: CheckpointSummary | None) -> list[str]:
    """What became of a session's turns, which the checkpoint of the state afterwards has a note of."""
    note = made.metadata.get("rewind") if made is not None else None
    if not isinstance(note, dict):
        return []
    session = visible(str(note.get("session")))
    hidden, shown, messages = (note.get(name) for name in ("hidden", "shown", "messages_removed"))
    rows = []
    if isinstance(hidden, list) and (hidden or messages):
        told = f"{count(len(hidden), 'turn')} and {count(messages if isinstance(messages, int) else 0, 'message')}"
        rows.append(f"The session {session} went back: {told} are hidden.")
    if isinstance(shown, list) and shown:
        rows.append(f"The session {session} has {count(len(shown), 'turn')} again.")
    return rows


def _target(one: CheckpointSummary, screen: Screen) -> str:
    message = screen.cut(visible(one.message.strip().partition("\n")[0]), max(20, screen.width - 50))
    return f"{screen.paint(f'checkpoint {one.number}', 'bold')} ({screen.ago(one.timestamp)}: {message})"
