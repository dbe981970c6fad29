"""One watched folder and its store, as a library: save, list, diff, restore, undo, prune, verify.

Used by one thread at a time, but for `verify`, which any thread may call; nothing here starts threads, opens
sockets or waits for events.
"""

from backtraild.store import Problem, Verification
from backtraild.workspace.history import Page
from backtraild.workspace.pieces import Piece
from backtraild.workspace.pruner import PruneResult
from backtraild.workspace.restorer import RestoreResult
from backtraild.workspace.verify import verify
from backtraild.workspace.workspace import Workspace

__all__ = ["Page", "Piece", "Problem", "PruneResult", "RestoreResult", "Verification", "Workspace", "verify"]
