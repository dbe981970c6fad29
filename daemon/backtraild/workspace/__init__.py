"""One watched folder and its store, as a library: save, list, diff, restore, undo, prune, verify.

Used by one thread at a time, but for `verify`, which any thread may call; nothing here starts threads, opens
sockets or waits for events.
"""

from backtraild.store import Problem, Verification
from backtraild.workspace.attribution import BEFORE_TURN
from backtraild.workspace.blame import Line, Origin
from backtraild.workspace.history import History, Page
from backtraild.workspace.pieces import Piece
from backtraild.workspace.pruner import PruneResult
from backtraild.workspace.restoring import RestoreResult
from backtraild.workspace.rewinds import Rewind, RewindNote, RewindPlan, Scope, note_of
from backtraild.workspace.room import Bound, Refusal, Room
from backtraild.workspace.verify import verify
from backtraild.workspace.versions import Version, VersionPage
from backtraild.workspace.workspace import Workspace

__all__ = [
    "BEFORE_TURN",
    "Bound",
    "History",
    "Line",
    "Origin",
    "Page",
    "Piece",
    "Problem",
    "PruneResult",
    "Refusal",
    "RestoreResult",
    "Rewind",
    "RewindNote",
    "RewindPlan",
    "Room",
    "Scope",
    "Verification",
    "Version",
    "VersionPage",
    "Workspace",
    "note_of",
    "verify",
]
