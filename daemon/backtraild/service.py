"""Everything the daemon does, for whoever asks: an embedding program, tests, and the socket server.

What is done once in a while, and by git, is loaded when it is first asked for: a start need not wait for it.
"""

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from backtrail.errors import BacktrailError
from backtraild import chronicle, formats, stores
from backtraild.forking import Forking
from backtraild.model import Checkpoint, Event
from backtraild.timeline import Timeline, TimelineQuery
from backtraild.workspace import Verification, verify

if TYPE_CHECKING:
    from backtraild.branching import BranchResult
    from backtraild.mirroring import Mirroring

_log = logging.getLogger(__name__)


class Service(Forking):
    """All that can be done with watched folders and their stores. Its methods may be called from any thread."""

    def events(self, since: int, limit: int = 1000, workspace: str | None = None) -> list[Event]:
        """What has happened after an event, oldest first."""
        return self.log.since(since, limit, workspace)

    def timeline(self, workspace: str, query: TimelineQuery | None = None) -> Timeline:
        """What happened in a workspace, oldest first; its worker is asked only where the log can't answer."""
        entry, wanted = self.entry(workspace), query or TimelineQuery()
        if not chronicle.needs_store(wanted):
            return chronicle.from_log(self.log, entry.id, wanted)
        return self.ask(
            entry.id,
            lambda keeper: chronicle.from_store(self.log, entry.id, keeper.workspace.history, wanted),
        )

    def branch(
        self, workspace: str, checkpoint: str, name: str, *, force: bool = False
    ) -> "tuple[Checkpoint, BranchResult]":
        """A branch with a checkpoint's files in the user's own repository; git runs in the caller's thread."""
        from backtraild.branching import branch

        entry, git_dir = self.entry(workspace), str(self.store(workspace) / "repo.git")
        found = self.ask(workspace, lambda keeper: keeper.workspace.history.find(checkpoint))
        patterns = entry.config.exclude_patterns
        return found, branch(entry.root, git_dir, found, name, force=force, exclude_patterns=patterns)

    def verify(
        self,
        workspace: str,
        *,
        heal: bool = False,
        stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int], None] = lambda _: None,
    ) -> Verification:
        """Check every byte of every checkpoint, in the caller's thread: the worker goes on in the meantime.

        To `heal`, the worker stores again what is damaged and still on the disk; then everything is checked again.
        """
        folder = str(self.store(workspace))
        found = verify(folder, stop, progress)
        if not (heal and found.problems and found.complete):
            return found
        try:
            self.ask(workspace, lambda keeper: keeper.heal(found.problems[0].message))
        except BacktrailError as error:  # such as a full disk, or a folder that is not there
            _log.warning("%s: nothing was healed: %s", workspace, error.message)
            return found
        return found.healed_by(verify(folder, stop, progress))

    def mirror(
        self,
        workspace: str,
        remote: str,
        *,
        dry_run: bool = False,
        delete: bool = False,
        stop: Callable[[], bool] = lambda: False,
    ) -> "Mirroring":
        """Copy a store to a repository elsewhere, in the caller's thread: the worker goes on in the meantime."""
        from backtraild.mirroring import mirror

        git_dir = str(self.store(workspace) / "repo.git")
        return mirror(git_dir, remote, dry_run=dry_run, delete=delete, stop=stop)

    def migrate(self) -> list[tuple[str, int, int]]:
        """Bring every store up to date: where it is, and its version before and now.

        Those of watched folders were when their worker opened them.
        """
        watched = {str(self.store(entry.id)) for entry in self.workspaces()}
        opened = [(folder, formats.version_of(folder), formats.CURRENT) for folder in sorted(watched)]
        others = [folder for folder in stores.all_in(self._places) if folder not in watched]
        return opened + [(folder, *formats.upgrade(folder)) for folder in others]
