"""A damaged session begun again: with every record that git or the table beside it still has."""

import contextlib
import logging
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TypeVar

from msgspec.structs import replace

from backtrail.errors import StoreDamaged, StoreFailed
from backtraild.sessions.ledger import Entered, Ledger
from backtraild.sessions.model import Session, Snapshot, Turn, session_key
from backtraild.sessions.rows import Rows

_log = logging.getLogger(__name__)
_Record = TypeVar("_Record")
_Key = TypeVar("_Key")


def begin_again(session: str, ledger: Ledger, rows: Rows) -> Entered | None:
    """Write a session anew; what is in neither place is lost. None if nothing is left of it at all."""
    key = session_key(session)
    turns = {turn.ordinal: turn for turn in _left(rows.turns, key)}
    snapshots = {snapshot.number: snapshot for snapshot in _left(rows.snapshots, key)}
    known = next(filter(None, _left(lambda key: [rows.session(key)], key)), None)
    try:
        tree = ledger.tree(key)
    except StoreDamaged:
        tree = None
    if tree is not None:
        turns |= {turn.ordinal: turn for turn in _left(ledger.turns, tree)}
        snapshots |= {snapshot.number: snapshot for snapshot in _left(ledger.snapshots, tree)}
    if known is None and not turns:
        return None
    begun = _facts(session, known, list(turns.values()), list(snapshots.values()))
    _log.warning(
        "session %s was damaged and is begun again: %d turns and %d snapshots are left",
        *(session, len(turns), len(snapshots)),
    )
    return Entered(begun, ledger.write(key, None, begun, turns.values(), snapshots.values(), afresh=True))


def _facts(session: str, known: Session | None, turns: list[Turn], snapshots: list[Snapshot]) -> Session:
    """The facts as they were, or such that no number is given out twice."""
    times = [turn.started for turn in turns]
    base = known or Session(session, min(times, default=datetime.now(UTC)), datetime.now(UTC))
    newest = max((snapshot.number for snapshot in snapshots), default=0)
    return replace(
        base,
        turn_count=max([base.turn_count, *(turn.ordinal for turn in turns)]),
        last_number=max([base.last_number, *(turn.number for turn in turns)]),
        snapshot_count=max(base.snapshot_count, newest),
        snapshot=base.snapshot if known else newest or None,
    )


def _left(read: Callable[[_Key], Iterable[_Record]], key: _Key) -> list[_Record]:
    """What can be read."""
    found: list[_Record] = []
    with contextlib.suppress(StoreDamaged, StoreFailed):
        found.extend(read(key))
    return found
