"""What may be asked of a watched folder: each function makes an action, which the folder's worker carries out."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from backtraild.conversing import Talk, describing, rewinding, saving
from backtraild.keeper import Keeper
from backtraild.model import Checkpoint, Diff, Intent, Path
from backtraild.state import Query
from backtraild.workspace import Page, Piece, PruneResult, RestoreResult, Scope

_Answer = TypeVar("_Answer")

Action: TypeAlias = Callable[[Keeper], _Answer]


def save(
    intent: Intent | None = None,
    *,
    talk: Talk | None = None,
    allow_empty: bool = False,
    full: bool = False,
) -> Action[Checkpoint]:
    """A checkpoint of everything written before the call. `full` looks at files without a hint, too.

    With a session, it is the state after a turn of it; `talk` tells what was said in that turn.
    """
    return lambda keeper: saving.save(
        keeper, intent or Intent(), talk or Talk(), allow_empty=allow_empty, full=full
    )


def list(query: Query | None = None) -> Action[Page]:  # noqa: A001 - named like the method of the wire
    """Checkpoints, newest first."""
    return lambda keeper: describing.page(keeper, query or Query())


def get(name: str) -> Action[Checkpoint]:
    """One checkpoint with its changes."""
    return lambda keeper: describing.checkpoint(keeper, name)


def read(name: str, path: Path) -> Action[bytes]:
    """The content of one file of a checkpoint."""
    return lambda keeper: b"".join(keeper.workspace.history.read(name, path))


def piece(name: str, path: Path, offset: int, length: int) -> Action[Piece]:
    """A part of one file of a checkpoint, or the names in a folder of it."""
    return lambda keeper: keeper.workspace.pieces.read(name, path, offset, length)


def diff(
    older: str, newer: str | None = None, paths: Sequence[Path] = (), *, text: bool = True
) -> Action[Diff]:
    """How two checkpoints differ, or a checkpoint and the disk; without `text`, no patch is made."""
    return lambda keeper: keeper.workspace.history.diff(older, newer, paths, text=text)


def restore(
    name: str,
    paths: Sequence[Path] = (),
    *,
    dry_run: bool = False,
    request: str | None = None,
    scope: Scope = Scope.FILES,
) -> Action[RestoreResult]:
    """Bring back a checkpoint, or some paths of it; `dry_run` only says what that would do.

    With another scope than files, the conversation goes back to the turn that the checkpoint belongs to.
    """
    if scope is not Scope.FILES:
        return lambda keeper: rewinding.restore(
            keeper, name, paths, scope=scope, dry_run=dry_run, request=request
        )
    if dry_run:
        return lambda keeper: keeper.workspace.preview(name, paths)
    return lambda keeper: keeper.restore(name, paths, request=request)


def undo(*, request: str | None = None) -> Action[RestoreResult]:
    """Take the last restore or rewind back."""
    return lambda keeper: rewinding.undo(keeper, request=request)


def delete(names: Sequence[str]) -> Action[Sequence[Checkpoint]]:
    """Let go of checkpoints."""
    return lambda keeper: keeper.delete(names)


def pin(name: str) -> Action[Checkpoint]:
    """Keep a checkpoint whatever retention says."""
    return lambda keeper: keeper.workspace.pin(name)


def unpin(name: str) -> Action[Checkpoint]:
    """Leave a checkpoint to retention again."""
    return lambda keeper: keeper.workspace.unpin(name)


def prune(*, dry_run: bool = False) -> Action[PruneResult]:
    """Let go of what retention no longer keeps; `dry_run` only says what that would be."""
    return lambda keeper: keeper.prune(dry_run=dry_run)
