"""Whether the store of a workspace is known to lack something that the disk may still have; time is an argument."""

from collections.abc import Iterable

from msgspec import Struct, field

from backtraild.store import Mended

# A look that found nothing took everything into account: only damage that came since, or files that did, are worth
# another one soon. What it did not help is left alone for a day, unless the files have changed.
SOON_SECONDS = 3600.0
LATER_SECONDS = 24 * 3600.0


class Healing(Struct, frozen=True):
    """What was put right: why it was looked for, what was done, and how many objects the disk still had."""

    reason: str
    done: tuple[str, ...]
    objects: int


class _InVain(Struct, frozen=True):
    """A look at everything that found nothing to put right: when, with which tree, and what it was made for."""

    at: float
    tree: str | None
    damage: frozenset[str]


class Suspicion(Struct):
    """What was met that calls for healing, and what came of it; shared by the parts of one workspace.

    `partial` says that the stat table lacks files of the newest checkpoint, because their folder can't be read: only
    a look at everything makes the table right again. `unlisted` are the checkpoints of which nothing can be read.
    """

    reason: str | None = None
    partial: bool = False
    done: list[str] = field(default_factory=list)
    healed: list[Healing] = field(default_factory=list)
    unlisted: set[int] = field(default_factory=set)
    _met: set[str] = field(default_factory=set)
    _in_vain: _InVain | None = None

    def raise_for(self, reason: str) -> None:
        """Something is damaged."""
        self.reason = self.reason or reason

    def meet(self, damage: str, tree: str | None, now: float) -> bool:
        """Somebody who reads met damage: does that call for a look at everything?"""
        self._met.add(damage)
        if self._in_vain is None or now >= self._in_vain.at + self._patience(self._in_vain, damage, tree):
            self.raise_for(damage)
        return self.reason is not None

    def looked(self, objects: int, tree: str | None, now: float) -> None:
        """Everything has been looked at because of damage, and so many objects were stored again."""
        before = frozenset() if self._in_vain is None else self._in_vain.damage
        self._in_vain = None if objects else _InVain(now, tree, before | self._met)
        self._met.clear()
        self.settle(objects)

    def note(self, mended: Iterable[Mended]) -> None:
        """The store alone did what it could; where something is lost, the disk may still have it."""
        for each in mended:
            self.done.append(each.sentence)
            if each.is_loss:
                self.raise_for(each.sentence)

    def settle(self, objects: int) -> None:
        """What was met is dealt with, and so many objects were stored again."""
        if self.done or objects:
            self.healed.append(Healing(self.reason or self.done[0], tuple(self.done), objects))
        self.reason, self.done = None, []

    def take(self) -> list[Healing]:
        """What was put right since somebody asked last."""
        if self.reason is None and self.done:
            self.settle(0)
        taken, self.healed = self.healed, []
        return taken

    @staticmethod
    def _patience(last: _InVain, damage: str, tree: str | None) -> float:
        is_the_same = damage in last.damage and tree == last.tree
        return LATER_SECONDS if is_the_same else SOON_SECONDS
