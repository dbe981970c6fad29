"""Which checkpoints are kept and which are let go, and why. Pure: time and policy come in as arguments.

What somebody asked for is kept as long as there is room; what was made automatically thins out with age. "Last"
and "oldest" go by the checkpoints' numbers, which count up whatever the clock does.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from backtraild.model import Kind

ALL_KEPT_FOR = timedelta(days=1)
# A clock that has jumped ahead by so much is believed once it has gone on from there for so long.
JUMP = timedelta(days=30)
PROOF = timedelta(days=7)

PINNED = "pinned"
NEWEST = "the newest"
NEEDED_BY_UNDO = "needed to undo the last restore, or to finish it"
RECENT = "less than a day old"
TOO_OLD = "automatic and more than a year old"

_ASKED_FOR = {Kind.MANUAL: "saved by hand", Kind.AGENT: "saved for an agent"}


class Candidate(Struct, frozen=True):
    """What retention has to know of a checkpoint."""

    number: int
    timestamp: datetime
    kind: Kind
    pinned: bool = False


class Decision(Struct, frozen=True):
    """What becomes of one checkpoint; the reason goes on after "kept because it is" or "let go: it is"."""

    number: int
    keep: bool
    reason: str


class Verdict(Struct, frozen=True):
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


class _Tier(Struct, frozen=True):
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
    candidates: Iterable[Candidate],
    now: datetime,
    at_most: int,
    needed: Collection[int] = (),
    *,
    spare: int = 0,
) -> Verdict:
    """Decide about all checkpoints there are. Deciding again about those that are left drops none of them.

    Where there are too many, places for `spare` more are made, so that the next few need no deciding.
    """
    ordered = sorted(candidates, key=lambda candidate: candidate.number)
    protected = _protected(ordered, needed)
    thinned = _thinned(ordered, now)
    decisions = {
        number: Decision(number, True, protected[number]) if number in protected else decision
        for number, decision in thinned.items()
    }
    kept = [candidate for candidate in ordered if decisions[candidate.number].keep]
    surplus = max(0, len(kept) - at_most)
    victims = _victims(kept, protected)[: surplus and surplus + spare]
    for candidate in victims:
        decisions[candidate.number] = Decision(candidate.number, False, _crowded_out(candidate, at_most))
    return Verdict(tuple(decisions.values()), max(0, surplus - len(victims)))


def believed(times: Sequence[datetime], now: datetime) -> datetime:
    """The time against which age is measured, where things happened at these times, in this order.

    A clock that is set years ahead, for an hour or by a flat battery, would make everything too old to be kept; and
    what is let go does not come back when the clock does. So a jump ahead, from one thing to the next or to `now`,
    does not count before things have happened for a week after it. A machine that was off for months pays for that
    with a week in which less is let go, and a folder in which nothing happens any more keeps what it has, unless
    its owner asks for pruning: who looks at what would go, and at the clock, is believed.
    """
    begin = now
    for time in reversed(times):
        if begin - time > JUMP:
            return now if now - begin >= PROOF else time + (now - begin)
        begin = min(begin, time)
    return now


class Ranking(Struct, frozen=True):
    """Checkpoints in the order in which they are worth keeping; the first `protected` ones are never let go."""

    numbers: tuple[int, ...]
    protected: int


def rank(candidates: Iterable[Candidate], now: datetime, needed: Collection[int] = ()) -> Ranking:
    """What to keep first where there is no room for all: the reverse of the order in which they are let go."""
    ordered = sorted(candidates, key=lambda candidate: candidate.number)
    protected = _protected(ordered, needed)
    thinned = _thinned(ordered, now)
    victims = sorted(_victims(ordered, protected), key=lambda each: thinned[each.number].keep)
    last = [each.number for each in reversed(victims)]
    first = [each.number for each in reversed(ordered) if each.number in protected]
    return Ranking((*first, *last), len(first))


def beyond(ranking: Ranking, cumulative: Sequence[int], room: int) -> tuple[int, ...]:
    """Which ones do not fit into so many bytes, the first to go first.

    `cumulative[n]` is what everything up to the n-th takes.
    """
    kept = max(ranking.protected, bisect_right(cumulative, room))
    return tuple(reversed(ranking.numbers[kept:]))


def _protected(ordered: Sequence[Candidate], needed: Collection[int]) -> dict[int, str]:
    """What is never let go, and why."""
    reasons = dict.fromkeys(needed, NEEDED_BY_UNDO)
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
