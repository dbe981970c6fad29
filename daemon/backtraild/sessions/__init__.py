"""Sessions: agent conversations bound to a workspace, with their turns, snapshots and what was said in them.

`Sessions` is its face. Git holds everything (`ledger`); tables beside it answer lists and searches (`rows`,
`passages`), and `journal` keeps the two in agreement. Secrets are taken out before anything is written (`cleaning`).
"""

from backtrail.errors import UnknownSession, UnknownTurn
from backtraild.sessions.cleaning import Redactor
from backtraild.sessions.model import (
    Found,
    Hit,
    HitPage,
    Moment,
    Reversal,
    Session,
    SessionPage,
    SessionStatus,
    Snapshot,
    SnapshotType,
    ToolCall,
    Turn,
    check_number,
    check_session_id,
    session_key,
)
from backtraild.sessions.sessions import Sessions

__all__ = [
    "Found",
    "Hit",
    "HitPage",
    "Moment",
    "Redactor",
    "Reversal",
    "Session",
    "SessionPage",
    "SessionStatus",
    "Sessions",
    "Snapshot",
    "SnapshotType",
    "ToolCall",
    "Turn",
    "UnknownSession",
    "UnknownTurn",
    "check_number",
    "check_session_id",
    "session_key",
]
