"""Letting go of the checkpoints that retention no longer keeps.

Only refs and rows go. The space on the disk that nothing holds any more is given back by upkeep, not here.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from backtraild.retention import Candidate, Decision, Ranking, Verdict, believed, decide, rank
from backtraild.workspace.catalogue import Catalogue
from backtraild.workspace.parts import Parts
from backtraild.workspace.restorer import Restorer


class PruneResult(Struct, frozen=True):
    """What pruning let go, or would let go, and which others stay for which reasons.

    `excess` is how many more are protected than the workspace's limit allows.
    """

    dropped: tuple[Decision, ...]
    kept_numbers: Mapping[str, Sequence[int]]
    excess: int
    dry_run: bool

    @property
    def kept_because(self) -> Mapping[str, int]:
        """How many stay for each reason."""
        return {reason: len(numbers) for reason, numbers in self.kept_numbers.items()}

    @property
    def kept(self) -> int:
        """How many stay."""
        return sum(map(len, self.kept_numbers.values()))


class Pruner:
    """Applies the retention of one workspace to its checkpoints."""

    def __init__(self, parts: Parts, catalogue: Catalogue, restorer: Restorer) -> None:
        self._parts = parts
        self._catalogue = catalogue
        self._restorer = restorer

    def plan(self, *, dry_run: bool, spare: int = 0, asked: bool = True) -> PruneResult:
        """What retention says now. A checkpoint that can't be read is not decided about, and stays.

        Where there are too many, places for `spare` more are made. Unless somebody `asked` for it, a clock that has
        jumped ahead is not believed at once.
        """
        candidates, now = self._candidates(), datetime.now(UTC)
        verdict = decide(
            candidates,
            now if asked else _believed(candidates, now),
            self._parts.config.max_checkpoints,
            self._restorer.needed_by_undo(),
            spare=spare,
        )
        return _result(verdict, dry_run)

    def rank(self) -> Ranking:
        """What to keep first where there is no room for everything."""
        candidates = self._candidates()
        now = _believed(candidates, datetime.now(UTC))
        return rank(candidates, now, self._restorer.needed_by_undo())

    def _candidates(self) -> list[Candidate]:
        """All that is to be known is in the table: no commit is read."""
        rows = self._catalogue.asked(self._parts.index.outline)
        pinned = self._parts.store.pinned
        return [Candidate(number, time, kind, number in pinned) for number, time, kind in rows]


def _believed(candidates: Sequence[Candidate], now: datetime) -> datetime:
    return believed([candidate.timestamp for candidate in candidates], now)


def _result(verdict: Verdict, dry_run: bool) -> PruneResult:
    kept: defaultdict[str, list[int]] = defaultdict(list)
    for decision in verdict.kept:
        kept[decision.reason].append(decision.number)
    return PruneResult(verdict.dropped, dict(kept), verdict.excess, dry_run)
