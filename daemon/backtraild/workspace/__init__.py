"""One watched folder and its store, as a library: save, list, diff, restore, undo.

Used by one thread at a time; nothing here starts threads, opens sockets or waits for events.
"""

from backtraild.workspace.history import Page
from backtraild.workspace.restorer import RestoreResult
from backtraild.workspace.workspace import Workspace

__all__ = ["Page", "RestoreResult", "Workspace"]
