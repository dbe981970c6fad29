"""What is told of a workspace: each checkpoint once and in its order, also after a crash. Writes events only."""

import os
import time
from collections.abc import Mapping, Sequence
from typing import Any

from backtrail.errors import BacktrailError, StoreDamaged, StoreFailed
from backtrail.pathtext import to_text
from backtraild.health import Health
from backtraild.model import Checkpoint, Kind
from backtraild.registry import Registered
from backtraild.state import EventLog
from backtraild.store import DiskFailed
from backtraild.workspace import History

# A disk that can't read a checkpoint may come to itself again; for so long those after it wait to be told.
DISK_SECONDS = 3600.0


class Teller:
    """Tells of one workspace."""

    def __init__(self, entry: Registered, events: EventLog, health: Health, history: History) -> None:
        self._entry = entry
        self._root = to_text(os.fsencode(entry.root))
        self._events = events
        self._health = health
        self._history = history
        self._owed: list[tuple[str, int | None, str | None, Mapping[str, Any]]] = []
        self._waiting_since: float | None = None  # for a checkpoint that can't be read now
        self._told = min(history.newest() or 0, events.last_checkpoint(entry.id))

    def tell(self, kind: str, checkpoint: int | None, session: str | None, data: Mapping[str, Any]) -> None:
        """Something happened in this workspace."""
        self._events.append(kind, self._entry.id, self._root, checkpoint, session, data)

    def tell_done(
        self, kind: str, checkpoint: int | None, session: str | None, data: Mapping[str, Any]
    ) -> None:
        """Something was done, whether it can be told or not: deleting on a full disk must not fail because of that.

        What the log can't take now it takes later, in this order.
        """
        self._owed.append((kind, checkpoint, session, data))
        self.try_to_tell_new()

    def tell_new(self, made: Checkpoint | None = None) -> None:
        """Checkpoints without an event get it: new ones, and those whose event a crash or full disk swallowed.

        `made` is one that is at hand, and need not be read.
        """
        while self._owed:
            self.tell(*self._owed[0])
            del self._owed[0]
        for number in self._history.numbers_after(self._told):
            try:
                checkpoint = made if made and made.number == number else self._history.recall(number)
            except (StoreDamaged, StoreFailed) as error:
                if self._may_pass(error, time.monotonic()):
                    self._health.trouble("log", f"Checkpoint {number} can't be told of yet. {error.message}")
                    return
            else:
                self._tell_of(checkpoint)
            self._told, self._waiting_since = number, None
        self._events.write_down()
        self._health.well("log")

    def _tell_of(self, checkpoint: Checkpoint) -> None:
        """The log may take its time with this: what is not in it when the daemon dies is told at the next start."""
        kind = "checkpoint_restored" if checkpoint.kind is Kind.RESTORE else "checkpoint_created"
        where = self._entry.id, self._root, checkpoint.number, checkpoint.session
        self._events.append(kind, *where, _shown(checkpoint), is_known_otherwise=True)

    def _may_pass(self, error: BacktrailError, now: float) -> bool:
        """Can a checkpoint be read later that can't be now? Of one that is damaged, nothing can ever be told."""
        if not isinstance(error, DiskFailed):
            return isinstance(error, StoreFailed)
        since = self._waiting_since = now if self._waiting_since is None else self._waiting_since
        return now < since + DISK_SECONDS

    def trim_log(self) -> bool:
        """Let go of old events, of all workspaces; True if there are more of them."""
        return self._events.trim()

    def try_to_tell_new(self, made: Checkpoint | None = None) -> None:
        """The same where the checkpoints are there whether it is told or not: the worker tells of them later."""
        try:
            self.tell_new(made)
        except BacktrailError as error:
            self._health.trouble("log", error.message)

    def tell_pruned(self, numbers: Sequence[int], reason: str) -> None:
        """Those of them that are gone were let go by retention, for this reason."""
        gone = sorted(set(numbers).difference(self._history.numbers_after(0)))
        if gone:
            data = {"numbers": gone, "count": len(gone), "reason": reason}
            self.tell_done("checkpoints_pruned", None, None, data)


def _shown(checkpoint: Checkpoint) -> dict[str, Any]:
    turn = {} if checkpoint.turn is None else {"turn": checkpoint.turn}
    # The metadata comes first: whatever somebody called "id" in it, an event says which checkpoint it is of.
    return {
        **checkpoint.metadata,
        "id": checkpoint.id,
        "kind": checkpoint.kind.value,
        "message": checkpoint.message,
        "files_changed": checkpoint.files_changed_count,
        "insertions": checkpoint.insertions,
        "deletions": checkpoint.deletions,
        **turn,
    }
