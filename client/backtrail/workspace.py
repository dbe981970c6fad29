"""A watched folder, as a program sees it: every method is one request to the daemon."""

import builtins
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from backtrail import asking, conversing, protocol
from backtrail.asking import Name, PathLike, Time
from backtrail.conversing import Talk
from backtrail.history import History
from backtrail.values import (
    Checkpoint,
    CheckpointDiff,
    CheckpointPage,
    CheckpointSummary,
    PruneResult,
    RestoreResult,
    Unwatched,
    VerifyResult,
    WorkspaceStatus,
)

if TYPE_CHECKING:
    from backtrail.client import Client, OnProgress, Timeout
    from backtrail.wire.streams import EventStream


class Workspace(History):
    """Got from `Client.watch` or `Client.workspace`; shared between threads as its client is."""

    def __init__(self, client: "Client", workspace: str, root: str) -> None:
        self.client = client
        self.id = workspace
        self.root = root

    def __repr__(self) -> str:
        return f"<Workspace {self.id} at {self.root}>"

    def save(
        self,
        message: str | None = None,
        *,
        session: str | None = None,
        turn: int | None = None,
        metadata: Mapping[str, Any] | None = None,
        allow_empty: bool = True,
        full: bool = False,
        kind: str = "manual",
        timeout: "Timeout" = ...,
        on_progress: "OnProgress | None" = None,
        **talk: Unpack[Talk],
    ) -> Checkpoint:
        """A checkpoint of everything that was written before this call.

        With a session it is the state after a turn of it. `conversation` is a list of messages (any JSON), the text
        of a transcript (JSONL or a JSON array), or the path of one as `pathlib.Path`; `prompt`, `role` and `tools`
        are those of the turn, `agent`, `title` and `phase` those of the session. Where the conversation can't be
        recorded, the checkpoint is made all the same, and its `conversation_error` says why.
        """
        params = protocol.Save(
            workspace=self.id,
            message=message,
            kind=kind,
            session=session,
            turn=turn,
            metadata=dict(metadata or {}),
            allow_empty=allow_empty,
            full=full,
            **conversing.talk(talk),
        )
        return self.client.call(protocol.SAVE, params, timeout=timeout, on_progress=on_progress)

    def list(
        self,
        *,
        limit: int = 50,
        since: Time | None = None,
        until: Time | None = None,
        path: PathLike | None = None,
        session: str | None = None,
        kind: str | None = None,
        cursor: int | None = None,
    ) -> builtins.list[Checkpoint]:
        """Checkpoints, newest first; `page` also says whether there are more."""
        return self.page(
            limit=limit, since=since, until=until, path=path, session=session, kind=kind, cursor=cursor
        ).checkpoints

    def page(
        self,
        *,
        limit: int = 50,
        since: Time | None = None,
        until: Time | None = None,
        path: PathLike | None = None,
        session: str | None = None,
        kind: str | None = None,
        cursor: int | None = None,
    ) -> CheckpointPage:
        """Some checkpoints, newest first, and the cursor of the next page."""
        params = protocol.List(
            workspace=self.id,
            limit=limit,
            cursor=cursor,
            since=asking.time(since),
            until=asking.time(until),
            path=None if path is None else asking.inside(self.root, path),
            session=session,
            kind=kind,
            files=True,
        )
        return self.client.call(protocol.LIST, params)

    def get(self, name: Name) -> Checkpoint:
        """One checkpoint, by any of its names."""
        return self.client.call(protocol.GET, self._named(name))

    def read(self, name: Name, path: PathLike | None = None) -> bytes:
        """The content of a file as a checkpoint holds it; of a symbolic link, where it points."""
        pieces: builtins.list[bytes] = []
        while True:
            params = asking.piece(self.id, self.root, name, path, sum(map(len, pieces)))
            content = self.client.call(protocol.READ, params)
            pieces.append(asking.piece_of(content))
            if not pieces[-1] or content.offset + len(pieces[-1]) >= content.size:
                return b"".join(pieces)

    def diff(
        self, from_: Name = "@", to: Name | None = None, *, paths: Iterable[PathLike] = ()
    ) -> CheckpointDiff:
        """From one checkpoint to another, or to the workspace as it is now."""
        params = protocol.Diff(
            workspace=self.id,
            from_=asking.name(from_),
            to=None if to is None else asking.name(to),
            paths=asking.all_inside(self.root, paths),
        )
        return self.client.call(protocol.DIFF, params)

    def restore(
        self,
        name: Name,
        paths: Iterable[PathLike] = (),
        *,
        dry_run: bool = False,
        scope: str = "files",
        timeout: "Timeout" = ...,
        on_progress: "OnProgress | None" = None,
    ) -> RestoreResult:
        """Make the workspace, or some paths of it, what a checkpoint holds; `undo` takes it back.

        With the `scope` conversation or both, the session whose turn the checkpoint ended goes back to it, too.
        """
        params = protocol.Restore(
            workspace=self.id,
            checkpoint=asking.name(name),
            paths=asking.all_inside(self.root, paths),
            dry_run=dry_run,
            scope=scope,
        )
        return self.client.call(protocol.RESTORE, params, timeout=timeout, on_progress=on_progress)

    def undo(self, *, timeout: "Timeout" = ..., on_progress: "OnProgress | None" = None) -> RestoreResult:
        """Take the last restore back."""
        params = protocol.Undo(workspace=self.id)
        return self.client.call(protocol.UNDO, params, timeout=timeout, on_progress=on_progress)

    def delete(self, *names: Name) -> builtins.list[CheckpointSummary]:
        """Let go of checkpoints: of all of them, or of none if one is unknown."""
        params = protocol.Delete(workspace=self.id, checkpoints=[asking.name(name) for name in names])
        return self.client.call(protocol.DELETE, params).deleted

    def pin(self, name: Name) -> Checkpoint:
        """Keep a checkpoint, whatever retention says."""
        return self.client.call(protocol.PIN, self._named(name))

    def unpin(self, name: Name) -> Checkpoint:
        """Leave a checkpoint to retention again."""
        return self.client.call(protocol.UNPIN, self._named(name))

    def prune(self, dry_run: bool = False, *, timeout: "Timeout" = ...) -> PruneResult:
        """Let go of what retention does not keep."""
        params = protocol.Prune(workspace=self.id, dry_run=dry_run)
        return self.client.call(protocol.PRUNE, params, timeout=timeout)

    def verify(self, *, heal: bool = True, timeout: "Timeout" = None) -> VerifyResult:
        """Look at every byte of the store, however long that takes; what the folder still has is stored again."""
        params = protocol.Verify(workspace=self.id, heal=heal)
        return self.client.call(protocol.VERIFY, params, timeout=timeout)

    def status(self) -> WorkspaceStatus:
        """How the folder is doing."""
        return self.client.call(protocol.STATUS, self._itself)

    def pause(self) -> WorkspaceStatus:
        """Make no automatic checkpoints until `resume_watching`."""
        return self.client.call(protocol.PAUSE, self._itself)

    def resume_watching(self) -> WorkspaceStatus:
        """Make automatic checkpoints again."""
        return self.client.call(protocol.RESUME_WATCHING, self._itself)

    def unwatch(self, purge: bool = False) -> Unwatched:
        """Watch the folder no more; `purge` deletes its checkpoints."""
        return self.client.call(protocol.UNWATCH, protocol.Unwatch(workspace=self.id, purge=purge))

    def events(
        self, *, since: int | None = None, follow: bool = True, progress: bool = False
    ) -> "EventStream":
        """What happens in this folder; see `Client.events`."""
        return self.client.events(self, since=since, follow=follow, progress=progress)

    @property
    def _itself(self) -> protocol.OfWorkspace:
        return protocol.OfWorkspace(workspace=self.id)

    def _named(self, name: Name) -> protocol.OfCheckpoint:
        return protocol.OfCheckpoint(workspace=self.id, checkpoint=asking.name(name))
