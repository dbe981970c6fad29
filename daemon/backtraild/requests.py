"""What one can ask of a watched folder: thin methods that let its worker do it and wait for the answer."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from backtraild.keeper import Keeper
from backtraild.model import Checkpoint, Diff, Intent, Path
from backtraild.state import Query
from backtraild.workspace import Page, RestoreResult

_Answer = TypeVar("_Answer")


class Requests(ABC):
    """Methods that take a workspace's id first."""

    @abstractmethod
    def ask(self, workspace: str, action: Callable[[Keeper], _Answer]) -> _Answer:
        """Do something with a workspace, in its worker, and wait for the answer."""

    def save(
        self, workspace: str, intent: Intent | None = None, *, allow_empty: bool = False, full: bool = False
    ) -> Checkpoint:
        """A checkpoint of everything written before the call. `full` looks at files without a hint, too."""
        wanted = intent or Intent()
        return self.ask(workspace, lambda keeper: keeper.save(wanted, allow_empty=allow_empty, full=full))

    def list(self, workspace: str, query: Query | None = None) -> Page:
        """Checkpoints, newest first."""
        return self.ask(workspace, lambda keeper: keeper.workspace.history.list(query or Query()))

    def get(self, workspace: str, name: str) -> Checkpoint:
        """One checkpoint with its changes."""
        return self.ask(workspace, lambda keeper: keeper.workspace.history.get(name))

    def read(self, workspace: str, name: str, path: Path) -> bytes:
        """The content of one file of a checkpoint."""
        return self.ask(workspace, lambda keeper: b"".join(keeper.workspace.history.read(name, path)))

    def diff(self, workspace: str, older: str, newer: str | None = None, paths: Sequence[Path] = ()) -> Diff:
        """How two checkpoints differ, or a checkpoint and the disk."""
        return self.ask(workspace, lambda keeper: keeper.workspace.history.diff(older, newer, paths))

    def restore(
        self, workspace: str, name: str, paths: Sequence[Path] = (), *, dry_run: bool = False
    ) -> RestoreResult:
        """Bring back a checkpoint, or some paths of it; `dry_run` only says what that would do."""
        if dry_run:
            return self.ask(workspace, lambda keeper: keeper.workspace.preview(name, paths))
        return self.ask(workspace, lambda keeper: keeper.restore(name, paths))

    def undo(self, workspace: str) -> RestoreResult:
        """Take the last restore back."""
        return self.ask(workspace, lambda keeper: keeper.undo())

    def delete(self, workspace: str, names: Sequence[str]) -> Sequence[Checkpoint]:
        """Let go of checkpoints."""
        return self.ask(workspace, lambda keeper: keeper.delete(names))

    def pin(self, workspace: str, name: str) -> Checkpoint:
        """Keep a checkpoint whatever retention says."""
        return self.ask(workspace, lambda keeper: keeper.workspace.pin(name))

    def unpin(self, workspace: str, name: str) -> Checkpoint:
        """Leave a checkpoint to retention again."""
        return self.ask(workspace, lambda keeper: keeper.workspace.unpin(name))
