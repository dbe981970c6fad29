"""Which checkpoints retention lets go: what thins out, what stays, and what the limit does."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtraild import retention
from backtraild.model import Kind
from backtraild.retention import Candidate, Ranking, Verdict, beyond, decide, rank

NOW = datetime(2026, 11, 16, 12, 30, tzinfo=UTC)
AUTOMATIC = [Kind.AUTO, Kind.BASELINE, Kind.PRE_RESTORE, Kind.RESTORE]
PLENTY = 10**6


def made(number: int, ago: timedelta, kind: Kind = Kind.AUTO, *, pinned: bool = False) -> Candidate:
    return Candidate(number, NOW - ago, kind, pinned)


def at_times(*times: str, kind: Kind = Kind.AUTO) -> list[Candidate]:
    """Checkpoints made at these times, and a newest one that is of no interest."""
    found = [Candidate(at, datetime.fromisoformat(time + "+00:00"), kind) for at, time in enumerate(times, 1)]
    return [*found, Candidate(1000, NOW, Kind.AUTO)]


def kept(verdict: Verdict) -> list[int]:
    return [decision.number for decision in verdict.kept]


def reasons(verdict: Verdict) -> dict[int, str]:
    return {decision.number: decision.reason for decision in verdict.decisions}


@st.composite
def histories(draw: st.DrawFn) -> list[Candidate]:
    """Any checkpoints, of any age and from clocks that were set forth and back."""
    ages = st.one_of(
        st.timedeltas(timedelta(days=-3), timedelta(days=2)),
        st.timedeltas(timedelta(days=-800), timedelta(days=800)),
    )
    numbers = draw(st.lists(st.integers(1, 300), unique=True, max_size=40))
    kinds, pins = st.sampled_from(Kind), st.sampled_from([False, False, False, True])
    return [Candidate(number, NOW - draw(ages), draw(kinds), draw(pins)) for number in numbers]


LIMITS = st.integers(1, 45)
NEEDED = st.sets(st.integers(1, 300), max_size=40)


def protected(history: Sequence[Candidate], needed: set[int]) -> set[int]:
    numbers = {candidate.number for candidate in history}
    pinned = {candidate.number for candidate in history if candidate.pinned}
    return pinned | (needed & numbers) | ({max(numbers)} if numbers else set())


@given(histories(), LIMITS, NEEDED)
def test_what_is_protected_is_never_dropped_and_the_limit_holds_for_all_else(history, limit, needed):
    """A pin is a promise, and so is the limit: only the promises may exceed it, and that is told."""
    verdict = decide(history, NOW, limit, needed)
    safe = protected(history, needed)
    assert safe <= set(kept(verdict))
    assert len(verdict.kept) <= max(limit, len(safe))
    assert verdict.excess == max(0, len(verdict.kept) - limit)
    assert sorted(reasons(verdict)) == sorted(candidate.number for candidate in history)


@given(histories(), LIMITS, NEEDED)
def test_deciding_again_about_what_is_left_drops_nothing(history, limit, needed):
    """`prune` run twice must not take more than `prune` run once."""
    left = set(kept(decide(history, NOW, limit, needed)))
    again = decide([candidate for candidate in history if candidate.number in left], NOW, limit, needed)
    assert again.dropped == ()


@given(histories(), LIMITS, NEEDED, st.randoms(use_true_random=False))
def test_the_order_in_which_checkpoints_are_listed_does_not_matter(history, limit, needed, source):
    """A table gives its rows as it likes."""
    shuffled = source.sample(history, len(history))
    assert decide(shuffled, NOW, limit, needed) == decide(history, NOW, limit, needed)


@given(histories())
def test_nothing_of_the_last_day_or_from_the_future_goes_while_there_is_room(history):
    """A clock that was wrong for a while must not cost what was just made."""
    stays = {candidate.number for candidate in history if NOW - candidate.timestamp < timedelta(days=1)}
    assert stays <= set(kept(decide(history, NOW, PLENTY)))


@given(histories(), st.timedeltas(timedelta(0), timedelta(days=900)))
def test_a_clock_that_is_set_back_drops_no_more_than_the_right_one(history, back):
    """After a flat battery it is 1970: everything is from the future, and stays."""
    assert set(kept(decide(history, NOW, PLENTY))) <= set(kept(decide(history, NOW - back, PLENTY)))


@given(histories(), st.timedeltas(timedelta(0), timedelta(days=400)))
def test_pruning_often_leads_to_what_pruning_once_leads_to(history, later):
    """One who prunes daily must not end up with less than one who prunes once a year."""
    first = set(kept(decide(history, NOW, PLENTY)))
    left = [candidate for candidate in history if candidate.number in first]
    assert kept(decide(left, NOW + later, PLENTY)) == kept(decide(history, NOW + later, PLENTY))


@pytest.mark.parametrize("kind", AUTOMATIC)
def test_automatic_checkpoints_thin_out_to_hours_days_and_weeks(kind: Kind):
    """Yesterday every hour counts, last month a day does, last year a week."""
    history = at_times(
        "2025-11-10T12:00:00",  # more than a year ago
        "2026-07-06T10:00:00",  # a Monday
        "2026-07-12T23:00:00",  # the Sunday of that week
        "2026-07-13T00:00:00",  # the next week
        "2026-11-02T08:00:00",
        "2026-11-02T23:59:59",
        "2026-11-03T00:00:00",
        "2026-11-14T10:00:00",
        "2026-11-14T10:59:59",
        "2026-11-14T11:00:00",
        "2026-11-16T12:00:00",
        "2026-11-16T12:00:01",
        kind=kind,
    )
    assert reasons(decide(history, NOW, PLENTY)) == {
        1: "automatic and more than a year old",
        2: "not the last of its week",
        3: "the last of its week",
        4: "the last of its week",
        5: "not the last of its day",
        6: "the last of its day",
        7: "the last of its day",
        8: "not the last of its hour",
        9: "the last of its hour",
        10: "the last of its hour",
        11: "less than a day old",
        12: "less than a day old",
        1000: "the newest",
    }
    assert kept(decide(history, NOW, PLENTY)) == [3, 4, 6, 7, 9, 10, 11, 12, 1000]


def test_hours_and_days_are_those_of_utc_wherever_the_clock_stood():
    """A laptop that flies to another time zone must not thin out its history in another way."""
    east = timezone(timedelta(hours=9))
    hour = datetime(2026, 11, 2, 23, 30, tzinfo=UTC)
    history = [
        Candidate(1, hour.astimezone(east), Kind.AUTO),  # the 3rd, over there
        Candidate(2, datetime(2026, 11, 3, 0, 30, tzinfo=UTC), Kind.AUTO),
        Candidate(3, NOW, Kind.AUTO),
    ]
    assert kept(decide(history, NOW, PLENTY)) == [1, 2, 3]


def test_the_last_of_an_hour_is_the_last_that_was_made_though_the_clock_was_set_back():
    """Numbers count up; a clock does not always."""
    times = ["2026-11-14T10:50:00", "2026-11-14T10:10:00"]
    assert kept(decide(at_times(*times), NOW, PLENTY)) == [2, 1000]


def test_what_somebody_asked_for_is_kept_however_old_while_there_is_room():
    """A checkpoint with a message is a decision of a person, or of an agent's turn."""
    years = timedelta(days=2000)
    history = [made(1, years, Kind.MANUAL), made(2, years, Kind.AGENT), made(3, timedelta(0))]
    verdict = decide(history, NOW, 3)
    assert verdict.dropped == ()
    assert reasons(verdict) == {1: "saved by hand", 2: "saved for an agent", 3: "the newest"}


def test_over_the_limit_the_oldest_automatic_ones_go_before_the_oldest_that_were_asked_for():
    """What nobody asked for is missed least."""
    hour = timedelta(hours=1)
    history = [made(1, 9 * hour, Kind.MANUAL), made(2, 8 * hour), made(3, 7 * hour, Kind.AGENT)]
    history += [made(4, 6 * hour), made(5, 5 * hour)]
    assert [kept(decide(history, NOW, limit)) for limit in (4, 3, 2, 1)] == [
        [1, 3, 4, 5],
        [1, 3, 5],
        [3, 5],
        [5],
    ]
    told = reasons(decide(history, NOW, 2))
    assert told[4] == "one of the oldest automatic ones, and at most 2 are kept"
    assert told[1] == "one of the oldest, and at most 2 are kept"


def test_more_protected_ones_than_the_limit_allows_stay_and_their_excess_is_told():
    """Silence would look as if the limit did not work."""
    history = [made(number, timedelta(hours=9 - number), pinned=number < 4) for number in range(1, 8)]
    verdict = decide(history, NOW, 2, {4, 5})
    assert kept(verdict) == [1, 2, 3, 4, 5, 7]
    assert verdict.excess == 4
    assert reasons(verdict)[1] == retention.PINNED
    assert reasons(verdict)[4] == retention.NEEDED_BY_UNDO


def test_a_history_without_checkpoints_is_decided_about_as_well():
    """A folder may have lost all of them."""
    assert decide([], NOW, 1) == Verdict((), 0)


@given(histories(), LIMITS, NEEDED, st.integers(0, 10))
def test_places_to_spare_are_made_only_where_there_are_too_many(history, limit, needed, spare):
    """Pruning at every save would cost each of them; pruning without need would cost history."""
    plain = decide(history, NOW, limit, needed)
    roomy = decide(history, NOW, limit, needed, spare=spare)
    crowded_out = [each for each in plain.dropped if "are kept" in each.reason]
    if plain.excess or not crowded_out:
        assert roomy == plain
    else:
        assert set(kept(roomy)) <= set(kept(plain))
        least = max(limit - spare, len(protected(history, needed)))
        assert len(kept(roomy)) == min(least, len(kept(plain)))
    assert all(f"at most {limit:,}" in each.reason for each in roomy.dropped if "are kept" in each.reason)


@given(histories(), NEEDED)
def test_what_is_worth_keeping_most_is_what_would_be_let_go_last(history, needed):
    """A cap on bytes and a limit on their number must not contradict each other."""
    ranking = rank(history, NOW, needed)
    assert set(ranking.numbers[: ranking.protected]) == protected(history, needed)
    assert sorted(ranking.numbers) == sorted(candidate.number for candidate in history)
    thinned = set(kept(decide(history, NOW, PLENTY, needed)))
    assert set(ranking.numbers[: len(thinned)]) == thinned
    for limit in range(ranking.protected, len(thinned) + 1):
        if limit:
            assert set(kept(decide(history, NOW, limit, needed))) == set(ranking.numbers[:limit])


@pytest.mark.parametrize(
    ("room", "gone"),
    [(1000, ()), (40, ()), (39, (1,)), (30, (1,)), (29, (1, 2)), (20, (1, 2)), (0, (1, 2))],
)
def test_what_does_not_fit_is_let_go_and_what_is_protected_stays(room: int, gone: tuple[int, ...]):
    """Two are protected, whatever they take; the others go from the end, as far as they must."""
    assert beyond(Ranking((4, 3, 2, 1), 2), (15, 20, 30, 40), room) == gone


HISTORY = [made(day, timedelta(days=300 - day)) for day in range(1, 300)]


def as_believed(history: Sequence[Candidate], now: datetime) -> Verdict:
    """What is decided where nobody has asked for it."""
    times = [each.timestamp for each in history]
    return decide(history, retention.believed(times, now), PLENTY)


@pytest.mark.parametrize("saves", [0, 1, 50])
@pytest.mark.parametrize("years", [1, 5, 40])
def test_a_clock_that_is_years_ahead_for_an_hour_costs_no_history(saves: int, years: int):
    """What is let go does not come back when the clock is set right again."""
    before = [each for each in HISTORY if each.number in kept(decide(HISTORY, NOW, PLENTY))]
    ahead = NOW + timedelta(days=365 * years)
    since = [Candidate(1000 + at, ahead + timedelta(minutes=at), Kind.AUTO) for at in range(saves)]
    for now in (ahead + timedelta(hours=1), NOW + timedelta(hours=2)):
        assert as_believed([*before, *since], now).dropped == ()


def test_a_clock_that_goes_on_for_a_week_is_right():
    """A machine that was off for a year: the time has passed, and what is too old goes, only a week later."""
    later = NOW + timedelta(days=400)
    since = [Candidate(1000 + day, later + timedelta(days=day), Kind.MANUAL) for day in range(8)]
    assert 299 in kept(as_believed([*HISTORY, *since[:7]], later + timedelta(days=6)))
    assert kept(as_believed([*HISTORY, *since], later + timedelta(days=7))) == list(range(1000, 1008))


def test_in_a_folder_that_is_used_the_clock_is_right():
    """Weekends and holidays are no reason to keep more than is wanted."""
    now = NOW + timedelta(days=20)
    assert as_believed(HISTORY, now) == decide(HISTORY, now, PLENTY)


def test_a_folder_that_is_left_alone_keeps_what_it_had():
    """Nothing has happened since, so nothing takes up more room."""
    now = kept(decide(HISTORY, NOW, PLENTY))
    assert set(kept(as_believed(HISTORY, NOW + timedelta(days=500)))) >= set(now)
