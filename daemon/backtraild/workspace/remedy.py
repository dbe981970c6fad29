"""What is done about damage that somebody met while reading: the disk may still have what the store has lost."""

import time
from collections.abc import Callable
from typing import TypeVar

from backtrail.errors import BacktrailError, StoreDamaged
from backtraild.workspace.parts import Parts, reconcile
from backtraild.workspace.recorder import Recorder

_Answer = TypeVar("_Answer")


class Remedy:
    """Says whether a healing look is called for, and has it done."""

    def __init__(self, parts: Parts, recorder: Recorder) -> None:
        self._parts = parts
        self._recorder = recorder

    def met(self, damage: StoreDamaged, checkpoint: int | None = None) -> bool:
        """Somebody met damage, perhaps to a whole checkpoint; is a look at the disk called for?"""
        if checkpoint is not None:
            self._parts.suspicion.unlisted.add(checkpoint)
        try:
            tree = self._parts.store.newest_tree()
        except BacktrailError:  # there are greater troubles now
            return False
        return self._parts.suspicion.meet(damage.message, tree, time.monotonic())

    @property
    def is_due(self) -> bool:
        """Is a healing look called for? Where the table is partial, only a save can be one."""
        return self._parts.suspicion.reason is not None and not self._parts.suspicion.partial

    def heal(self, reason: str) -> None:
        """Store again what the store lacks and the disk still has; no checkpoint is made."""
        self._recorder.heal(reason)
        if self._parts.suspicion.unlisted:
            reconcile(self._parts)

    def healed(self, action: Callable[[], _Answer]) -> _Answer:
        """Do something that reads the store; where it is damaged, heal it and try once more."""
        try:
            return action()
        except StoreDamaged as damage:
            if not self.met(damage):
                raise
            try:
                self.heal(damage.message)
            except BacktrailError:
                raise damage from None
        return action()
