"""`CheckpointService`: one folder with its checkpoints behind the fewest possible methods."""

import builtins
import logging
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from backtrail.asking import Name, PathLike
from backtrail.client import Client
from backtrail.conversing import ConversationLike
from backtrail.errors import DaemonUnreachable
from backtrail.values import (
    Checkpoint,
    CheckpointConfig,
    CheckpointDiff,
    CheckpointEvent,
    CheckpointSummary,
    RestoreResult,
)
from backtrail.wire.streams import EventStream
from backtrail.workspace import Workspace

Handler = Callable[[CheckpointEvent], object]

EVERYTHING = "*"
_PAGE = 1000
_END_SECONDS = 10.0

_log = logging.getLogger(__name__)


class CheckpointService:
    """Watches a folder from `initialize` on, or from the first method that needs it."""

    def __init__(
        self,
        workspace_dir: PathLike,
        storage_dir: PathLike | None = None,
        config: CheckpointConfig | None = None,
        *,
        client: Client | None = None,
    ) -> None:
        self._folder = workspace_dir
        self._storage = storage_dir
        self._config = config
        self._client = client or Client()
        self._owns_client = client is None
        self._lock = threading.Lock()
        self._workspace: Workspace | None = None
        self._handlers: builtins.list[tuple[str, Handler]] = []
        self._listener: _Listener | None = None

    def __enter__(self) -> "CheckpointService":
        self.initialize()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def initialize(self) -> None:
        """Watch the folder, and wait for the checkpoint of its first state. A second time changes nothing."""
        self._watched()

    def save(
        self,
        message: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        *,
        conversation: ConversationLike | None = None,
        session: str | None = None,
        turn: int | None = None,
    ) -> Checkpoint:
        """A checkpoint of everything that was written before this call, and of what was said up to then."""
        return self._watched().save(
            message, metadata=metadata, session=session, turn=turn, conversation=conversation
        )

    def restore(self, checkpoint_id: Name, scope: str = "files") -> RestoreResult:
        """Make the folder what a checkpoint holds; the state before is a checkpoint too.

        `scope` is files, conversation or both.
        """
        return self._watched().restore(checkpoint_id, scope=scope)

    def diff(self, from_id: Name, to_id: Name | None = None) -> CheckpointDiff:
        """From one checkpoint to another, or to the folder as it is now."""
        return self._watched().diff(from_id, to_id)

    def list(self) -> builtins.list[Checkpoint]:
        """All checkpoints, newest first."""
        workspace = self._watched()
        page = workspace.page(limit=_PAGE)
        found = [*page.checkpoints]
        while page.next is not None:
            page = workspace.page(limit=_PAGE, cursor=page.next)
            found += page.checkpoints
        return found

    def get(self, checkpoint_id: Name) -> Checkpoint:
        """One checkpoint, by any of its names."""
        return self._watched().get(checkpoint_id)

    def delete(self, checkpoint_id: Name) -> CheckpointSummary:
        """Let go of a checkpoint."""
        return self._watched().delete(checkpoint_id)[0]

    def on(self, event: str, handler: Handler) -> None:
        """Call a handler for each event of a type, `*` for all, from now on and from one other thread.

        What a handler raises is logged and changes nothing else.
        """
        workspace = self._watched()
        with self._lock:
            self._handlers = [*self._handlers, (event, handler)]
            if self._listener is None:
                self._listener = _Listener(workspace.events(), self._dispatch)

    def close(self) -> None:
        """Call no handler any more and let go of the connection. The folder stays watched."""
        with self._lock:
            listener, self._listener = self._listener, None
        if listener is not None:
            listener.end()
        if self._owns_client:
            self._client.close()

    def _watched(self) -> Workspace:
        with self._lock:
            if self._workspace is None:
                self._workspace = self._client.watch(self._folder, self._config, store=self._storage)
            return self._workspace

    def _dispatch(self, event: CheckpointEvent) -> None:
        for wanted, handler in self._handlers:
            if wanted not in (event.type, EVERYTHING):
                continue
            try:
                handler(event)
            except Exception:
                _log.exception("A handler of %s failed with event %d.", event.type, event.seq)


class _Listener:
    """The thread that waits for events."""

    def __init__(self, events: EventStream, dispatch: Callable[[CheckpointEvent], None]) -> None:
        self._events = events
        self._dispatch = dispatch
        self._thread = threading.Thread(target=self._listen, name="backtrail events", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """End it, and wait for the handler that may be running, unless that is who asks."""
        self._events.close()
        if threading.current_thread() is not self._thread:
            self._thread.join(_END_SECONDS)

    def _listen(self) -> None:
        try:
            for event in self._events:
                self._dispatch(event)
        except DaemonUnreachable:
            _log.exception("No more events are told.")
