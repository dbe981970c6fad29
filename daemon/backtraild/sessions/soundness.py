"""Whether a record that was read can be one that Backtrail wrote: a store may come from somebody else. Pure."""

from collections.abc import Iterable
from datetime import datetime

from backtrail.errors import StoreDamaged, UsageError
from backtraild.sessions.model import Session, Snapshot, Turn, session_key

# What comes after the last of them must still fit into a table.
HIGHEST_READ = 2**63 - 2
# Nobody can have made so many records; callers may choose higher numbers for their turns.
HIGHEST_COUNT = 2**40
# A prompt, a thousand tools and the metadata, each as long as it may be and every character escaped.
LARGEST_RECORD = 32 * 1024 * 1024


def check_session(session: Session, key: str) -> None:
    """Raise StoreDamaged unless these can be the facts of the session that hangs there."""
    try:
        is_itself = session_key(session.id) == key
    except (UsageError, UnicodeError):
        is_itself = False
    if not is_itself:
        raise StoreDamaged(f"Session {key} in the store says that it is {session.id[:50]!a}.")
    what = f"Session {key}"
    _check_times(what, session.created, session.updated, *(moment.time for moment in session.moments))
    _check_numbers(what, HIGHEST_COUNT, session.turn_count, session.snapshot_count)
    _check_numbers(what, HIGHEST_COUNT, session.open_turn, session.snapshot)
    _check_numbers(what, HIGHEST_READ, session.last_number, session.rewound_by, *session.redacted.values())


def check_turn(turn: Turn) -> None:
    """Raise StoreDamaged unless this can be a turn."""
    what = "A turn"
    _check_times(what, turn.started, turn.ended)
    _check_times(what, *(time for tool in turn.tools for time in (tool.started, tool.ended)))
    _check_numbers(what, HIGHEST_COUNT, turn.ordinal, turn.more_tools)
    numbers = (turn.number, turn.before, turn.after, turn.snapshot)
    _check_numbers(what, HIGHEST_READ, *numbers, *turn.redacted.values())


def check_snapshot(snapshot: Snapshot) -> None:
    """Raise StoreDamaged unless this can be a conversation at one moment."""
    what = "A snapshot of a conversation"
    _check_times(what, snapshot.created)
    _check_numbers(what, HIGHEST_COUNT, snapshot.number, snapshot.generation, snapshot.message_count)
    numbers = (snapshot.bytes, snapshot.appended, snapshot.turn, snapshot.checkpoint)
    _check_numbers(what, HIGHEST_READ, *numbers, *snapshot.redacted.values())


def _check_times(what: str, *times: datetime | None) -> None:
    if any(time is not None and time.tzinfo is None for time in times):
        raise StoreDamaged(f"{what} in the store has a time without a zone.")


def _check_numbers(what: str, highest: int, *numbers: int | None) -> None:
    wrong = _first_wrong(numbers, highest)
    if wrong is not None:
        raise StoreDamaged(f"{what} in the store has a number that nothing has: {wrong:.3g}.")


def _first_wrong(numbers: Iterable[int | None], highest: int) -> int | None:
    return next((number for number in numbers if number is not None and not 0 <= number <= highest), None)
