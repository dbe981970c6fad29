"""Backtrail's client side: the contract that daemon, library and command line share.

Everything is imported when it is first used, so that a command pays for what it needs and for nothing else.
"""

TYPE_CHECKING = False  # as type checkers read it; importing it from `typing` costs as much as all the rest
if TYPE_CHECKING:
    from backtrail.async_client import AsyncClient
    from backtrail.async_session import AsyncSession
    from backtrail.async_workspace import AsyncWorkspace
    from backtrail.checkpoint_service import CheckpointService
    from backtrail.client import Client
    from backtrail.errors import (
        AmbiguousCheckpoint,
        BacktrailError,
        BranchFailed,
        BranchRefused,
        Bug,
        DaemonSilent,
        DaemonUnreachable,
        HostileTree,
        MirrorFailed,
        NothingToDo,
        PlanChanged,
        ProtocolMismatch,
        RefusedWorkspace,
        RestoreFailed,
        RestoreInterrupted,
        StoreDamaged,
        StoreFailed,
        StoreFull,
        UnknownCheckpoint,
        UnknownConversation,
        UnknownPath,
        UnknownSession,
        UnknownTurn,
        UnknownWorkspace,
        UnreadableTranscript,
        UntrustedDaemon,
        UsageError,
        WorkspaceUnavailable,
    )
    from backtrail.session import Session
    from backtrail.session_values import HistoryEvent, Resumption, RewindResult, SessionSummary, Turn
    from backtrail.values import (
        Checkpoint,
        CheckpointConfig,
        CheckpointDiff,
        CheckpointEvent,
        CheckpointPage,
        CheckpointSummary,
        FileChange,
        RestoreResult,
        WorkspaceInfo,
        WorkspaceStatus,
    )
    from backtrail.workspace import Workspace

__version__ = "0.1.0"

_ERRORS = (
    "AmbiguousCheckpoint BacktrailError BranchFailed BranchRefused Bug DaemonSilent DaemonUnreachable "
    "HostileTree MirrorFailed NothingToDo PlanChanged ProtocolMismatch RefusedWorkspace RestoreFailed "
    "RestoreInterrupted StoreDamaged StoreFailed StoreFull UnknownCheckpoint UnknownConversation UnknownPath "
    "UnknownSession UnknownTurn UnknownWorkspace UnreadableTranscript UntrustedDaemon UsageError "
    "WorkspaceUnavailable"
)
_VALUES = (
    "Checkpoint CheckpointConfig CheckpointDiff CheckpointEvent CheckpointPage CheckpointSummary FileChange "
    "RestoreResult WorkspaceInfo WorkspaceStatus"
)
_SESSION_VALUES = "HistoryEvent Resumption RewindResult SessionSummary Turn"
_HOMES = {
    "AsyncClient": "async_client",
    "AsyncSession": "async_session",
    "AsyncWorkspace": "async_workspace",
    "CheckpointService": "checkpoint_service",
    "Client": "client",
    "Session": "session",
    "Workspace": "workspace",
    **dict.fromkeys(_ERRORS.split(), "errors"),
    **dict.fromkeys(_SESSION_VALUES.split(), "session_values"),
    **dict.fromkeys(_VALUES.split(), "values"),
}

__all__ = [
    "AmbiguousCheckpoint",
    "AsyncClient",
    "AsyncSession",
    "AsyncWorkspace",
    "BacktrailError",
    "BranchFailed",
    "BranchRefused",
    "Bug",
    "Checkpoint",
    "CheckpointConfig",
    "CheckpointDiff",
    "CheckpointEvent",
    "CheckpointPage",
    "CheckpointService",
    "CheckpointSummary",
    "Client",
    "DaemonSilent",
    "DaemonUnreachable",
    "FileChange",
    "HistoryEvent",
    "HostileTree",
    "MirrorFailed",
    "NothingToDo",
    "PlanChanged",
    "ProtocolMismatch",
    "RefusedWorkspace",
    "RestoreFailed",
    "RestoreInterrupted",
    "RestoreResult",
    "Resumption",
    "RewindResult",
    "Session",
    "SessionSummary",
    "StoreDamaged",
    "StoreFailed",
    "StoreFull",
    "Turn",
    "UnknownCheckpoint",
    "UnknownConversation",
    "UnknownPath",
    "UnknownSession",
    "UnknownTurn",
    "UnknownWorkspace",
    "UnreadableTranscript",
    "UntrustedDaemon",
    "UsageError",
    "Workspace",
    "WorkspaceInfo",
    "WorkspaceStatus",
    "WorkspaceUnavailable",
    "__version__",
]


if not TYPE_CHECKING:  # a type checker would take it for a promise that every name exists

    def __getattr__(name: str) -> object:
        """Import a name from its home; from then on it is an ordinary name of this module."""
        home = _HOMES.get(name)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
