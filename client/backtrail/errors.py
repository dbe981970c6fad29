"""Everything that can go wrong, as one hierarchy: a code for programs, a sentence and a hint for people."""

from collections.abc import Iterator


class BacktrailError(Exception):
    """The root of all errors that Backtrail raises on purpose."""

    code = "failed"
    exit_status = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(BacktrailError):
    """The request itself makes no sense, whatever the state of the workspace."""

    code, exit_status = "usage", 2


class NothingToDo(BacktrailError):
    """The wanted state is the present state: no change to save, no restore to undo."""

    code, exit_status = "nothing-to-do", 3


class DaemonUnreachable(BacktrailError):
    """No daemon answers, and none could be started."""

    code, exit_status = "daemon-unreachable", 10


class DaemonSilent(DaemonUnreachable):
    """A daemon is there, but its answer did not come in time."""

    code = "daemon-silent"


class UntrustedDaemon(DaemonUnreachable):
    """The file that says where the daemon listens was not written by the daemon of this user."""

    code = "untrusted-daemon"


class ProtocolMismatch(DaemonUnreachable):
    """The daemon speaks another version of the protocol than this client."""

    code = "protocol-mismatch"


class Bug(BacktrailError):
    """Something that nobody thought of; the daemon's log may have more."""

    code, exit_status = "bug", 70


class DaemonStopping(DaemonUnreachable):
    """The daemon is ending and did not begin with this request."""

    code = "daemon-stopping"


class DaemonBusy(BacktrailError):
    """More is waiting for the daemon than it holds; it did not begin with this request."""

    code = "busy"


class UnknownWorkspace(BacktrailError):
    """No watched folder answers to that name."""

    code, exit_status = "unknown-workspace", 11


class UnknownCheckpoint(BacktrailError):
    """No checkpoint answers to that name."""

    code, exit_status = "unknown-checkpoint", 12


class AmbiguousCheckpoint(UnknownCheckpoint):
    """More than one checkpoint answers to that name."""

    code = "ambiguous-checkpoint"


class UnknownPath(BacktrailError):
    """The checkpoint exists, but holds nothing at that path."""

    code = "unknown-path"


class UnknownSession(BacktrailError):
    """No session answers to that id."""

    code = "unknown-session"


class UnknownTurn(BacktrailError):
    """The session exists, but has no such turn or snapshot."""

    code = "unknown-turn"


class UnknownConversation(BacktrailError):
    """No conversation is stored under that key, or not in that generation."""

    code = "unknown-conversation"


class UnreadableTranscript(BacktrailError):
    """A conversation that was handed over can't be read; nothing was stored."""

    code = "unreadable-transcript"


class RefusedWorkspace(BacktrailError):
    """This folder must not be watched, or not without being forced."""

    code = "refused-workspace"


class WorkspaceUnavailable(BacktrailError):
    """The workspace's folder is gone, replaced or unreadable; nothing is recorded as deleted."""

    code = "workspace-unavailable"


class StoreDamaged(BacktrailError):
    """Content that a checkpoint needs is missing from the store or not what was stored."""

    code = "store-damaged"


class StoreFailed(BacktrailError):
    """The store could not be written or read; nothing was acknowledged."""

    code = "store-failed"


class StoreFull(StoreFailed):
    """The store has no room: it is at its limit, or the disk is nearly full. Nothing was acknowledged."""

    code = "store-full"


class StoreTooNew(BacktrailError):
    """The store was made by a later version; this one does not know what it would destroy."""

    code = "store-too-new"


class HostileTree(BacktrailError):
    """A checkpoint holds names or types that must never be written to a disk."""

    code = "hostile-tree"


class RestoreFailed(BacktrailError):
    """A restore could not be carried through; the workspace is as it was before."""

    code = "restore-failed"


class RestoreInterrupted(BacktrailError):
    """A restore stopped half-way and could not be rolled back; the journal will finish it."""

    code = "restore-interrupted"


class PlanChanged(BacktrailError):
    """What was confirmed is not what would be done now; nothing was done."""

    code, exit_status = "plan-changed", 13


class BranchRefused(BacktrailError):
    """There is no place for this branch: no repository, or a name that is taken."""

    code = "branch-refused"


class BranchFailed(BacktrailError):
    """Git could not make the branch; the user's repository is as it was before."""

    code = "branch-failed"


class MirrorFailed(BacktrailError):
    """The remote could not be reached or did not take what it was sent; it is as it was before."""

    code = "mirror-failed"


def error_from(code: str, message: str, hint: str = "") -> BacktrailError:
    """The error that a code on the wire stands for; one that is not known here keeps its code."""
    for kind in _kinds(BacktrailError):
        if kind.code == code:
            return kind(message, hint)
    error = BacktrailError(message, hint)
    error.code = code
    return error


def _kinds(kind: type[BacktrailError]) -> Iterator[type[BacktrailError]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _kinds(narrower)
