"""Sessions of a watched folder: what happens when one is begun, saved with, rewound, resumed, let go.

Checkpoints come first: nothing here keeps one from being made. Every module takes the folder's `Keeper`:

    lifecycle   sessions begun, changed, ended, deleted
    turning     turns begun, tools used in them
    saving      a checkpoint with the turn that it ends and what was said in it
    rewinding   going back to a turn, and undoing that
    resuming    all that is needed to go on
    excerpts    messages, page by page
    describing  checkpoints with what was said up to them
    authors     which turn a version of a file, or a line of it, is from
    telling     the events of all that
"""

from backtraild.conversing.model import (
    Authorship,
    BlamedLine,
    DeletedSession,
    Excerpt,
    LoggedVersion,
    LogPage,
    Restoration,
    Resumption,
    RewindResult,
    SessionView,
    Talk,
)

__all__ = [
    "Authorship",
    "BlamedLine",
    "DeletedSession",
    "Excerpt",
    "LogPage",
    "LoggedVersion",
    "Restoration",
    "Resumption",
    "RewindResult",
    "SessionView",
    "Talk",
]
