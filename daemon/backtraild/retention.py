"""Which checkpoints are kept and which are let go, and why. Pure: time and policy come in as arguments.

What somebody asked for is kept as long as there is room; what was made automatically thins out with age. "Last"
and "oldest" go by the checkpoints' numbers, which count up whatever the clock does.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from backtraild.model import Kind

ALL_KEPT_FOR = timedelta(days=1)

PINNED = "pinned"
NEWEST = "the newest"
NEEDED_BY_UNDO = "needed to undo the last restore"
RECENT = "less than a day old"
TOO_OLD = "automatic and more than a year old"

_ASKED_FOR = {Kind.MANUAL: "saved by hand", Kind.AGENT: "saved for an agent"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """What retention has to know of a checkpoint."""

    number: int
    timestamp: datetime
    kind: Kind
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of one checkpoint; the reason goes on after "kept because it is" or "let go: it is"."""

    number: int
    keep: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """All decisions, oldest first; `excess` is how many more are protected than should be kept at all."""

    decisions: tuple[Decision, ...]
    excess: int

    @property
    def dropped(self) -> tuple[Decision, ...]:
        """What is let go."""
        return tuple(decision for decision in self.decisions if not decision.keep)

    @property
    def kept(self) -> tuple[Decision, ...]:
        """What stays."""
        return tuple(decision for decision in self.decisions if decision.keep)


@dataclass(frozen=True, slots=True)
class _Tier:
    """Up to this age, one automatic checkpoint is kept for each such period."""

    age: timedelta
    period: str
    bucket: Callable[[datetime], Hashable]


# Calendar periods that lie in each other: the last of a week is also the last of its day and of its hour, so
# that growing older never takes away what stands for a longer period.
_TIERS = (
    _Tier(timedelta(days=7), "hour", lambda time: (time.date(), time.hour)),
    _Tier(timedelta(days=30), "day", lambda time: time.date()),
    _Tier(timedelta(days=365), "week", lambda time: time.isocalendar()[:2]),
)


def decide(
    candidates: Iterable[Candidate], now: datetime, at_most: int, needed_by_undo: Collection[int] = ()
) -> Verdict:
    """Decide about all checkpoints there are. Deciding again about those that are left drops none of them."""
    ordered = sorted(candidates, key=lambda candidate: candidate.number)
    protected = _protected(ordered, needed_by_undo)
    thinned = _thinned(ordered, now)
    decisions = {
        number: Decision(number, True, protected[number]) if number in protected else decision
        for number, decision in thinned.items()
    }
    kept = [candidate for candidate in ordered if decisions[candidate.number].keep]
    surplus = max(0, len(kept) - at_most)
    victims = _victims(kept, protected)[:surplus]
    for candidate in victims:
        decisions[candidate.number] = Decision(candidate.number, False, _crowded_out(candidate, at_most))
    return Verdict(tuple(decisions.values()), surplus - len(victims))


def _protected(ordered: Sequence[Candidate], needed_by_undo: Collection[int]) -> dict[int, str]:
    """What is never let go, and why."""
    reasons = dict.fromkeys(needed_by_undo, NEEDED_BY_UNDO)
    reasons |= {candidate.number: PINNED for candidate in ordered if candidate.pinned}
    return reasons | {candidate.number: NEWEST for candidate in ordered[-1:]}


def _thinned(ordered: Sequence[Candidate], now: datetime) -> dict[int, Decision]:
    """What age alone says about each checkpoint."""
    last = {
        tier.period: {tier.bucket(_utc(each)): each.number for each in ordered if _is_automatic(each)}
        for tier in _TIERS
    }
    return {each.number: _by_age(each, now, last) for each in ordered}


def _by_age(candidate: Candidate, now: datetime, last: dict[str, dict[Hashable, int]]) -> Decision:
    number = candidate.number
    if not _is_automatic(candidate):
        return Decision(number, True, _ASKED_FOR[candidate.kind])
    age = now - candidate.timestamp
    if age < ALL_KEPT_FOR:  # also what a clock that ran ahead dated into the future
        return Decision(number, True, RECENT)
    for tier in _TIERS:
        if age < tier.age:
            is_last = last[tier.period][tier.bucket(_utc(candidate))] == number
            return Decision(number, is_last, f"{'' if is_last else 'not '}the last of its {tier.period}")
    return Decision(number, False, TOO_OLD)


def _victims(kept: Sequence[Candidate], protected: Collection[int]) -> list[Candidate]:
    """What goes when there are too many, in this order: the oldest automatic ones, then the other oldest."""
    free = [candidate for candidate in kept if candidate.number not in protected]
    return sorted(free, key=lambda candidate: (not _is_automatic(candidate), candidate.number))


def _crowded_out(candidate: Candidate, at_most: int) -> str:
    which = "one of the oldest automatic ones" if _is_automatic(candidate) else "one of the oldest"
    return f"{which}, and at most {at_most:,} are kept"


def _is_automatic(candidate: Candidate) -> bool:
    return candidate.kind not in _ASKED_FOR


def _utc(candidate: Candidate) -> datetime:
    return candidate.timestamp.astimezone(UTC)
