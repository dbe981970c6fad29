"""Pins with an end: kept in the table, so that losing it only keeps a checkpoint for longer."""

import msgspec

from backtraild.workspace.parts import Parts

_FACT = "pinned_until"


class TemporaryPins:
    """Checkpoints that are protected for a while."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def pin(self, number: int, until: float) -> None:
        """Protect a checkpoint until a time, in seconds since 1970. One that was pinned by hand stays so."""
        known = self._known()
        if str(number) not in known and self._parts.store.get(number).pinned:
            return
        # Remembered first: a crash in between must not leave a pin that nobody takes away.
        self._remember({**known, str(number): max(until, known.get(str(number), 0.0))})
        self._parts.store.pin(number)

    def decided(self, number: int) -> None:
        """Somebody pinned or unpinned it by hand: the end that was set for it no longer counts."""
        known = self._known()
        if known.pop(str(number), None) is not None:
            self._remember(known)

    def release(self, now: float) -> None:
        """Take the protection from those whose time is over."""
        known = self._known()
        over = [name for name, until in known.items() if until <= now]
        for name in over:
            if self._parts.store.has(int(name)):
                self._parts.store.unpin(int(name))
        if over:
            self._remember({name: until for name, until in known.items() if name not in over})

    def _known(self) -> dict[str, float]:
        return msgspec.json.decode(self._parts.database.fact(_FACT) or "{}", type=dict[str, float])

    def _remember(self, pins: dict[str, float]) -> None:
        self._parts.database.remember(_FACT, msgspec.json.encode(pins).decode())
