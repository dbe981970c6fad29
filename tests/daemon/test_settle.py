"""When a batch of changes is worth a checkpoint; time is an argument, so nothing here waits."""

import itertools

import pytest

from backtraild import settle
from backtraild.settle import LARGE, LONGEST_REST, Loss, Losses, Pace, Restraint, due_at, due_with_git

PACE = Pace(quiet=0.5, patience=10.0)
BIG = {b"big": LARGE}


@pytest.mark.parametrize(
    ("first", "last", "due"),
    [
        (100.0, 100.0, 100.5),  # one change: as soon as it is quiet
        (100.0, 105.0, 105.5),  # changes go on: quiet counts from the last one
        (100.0, 109.4, 109.9),
        (100.0, 109.5, 110.0),  # both at once
        (100.0, 109.9, 110.0),  # never quiet: patience ends the wait
        (100.0, 500.0, 110.0),
    ],
)
def test_a_batch_is_due_when_it_is_quiet_or_when_patience_ends(first: float, last: float, due: float):
    """An editor's save shall be one checkpoint, and a busy folder shall have some at all."""
    assert due_at(PACE, first, last) == due


@pytest.mark.parametrize(
    ("due", "now", "busy_since", "expected"),
    [
        (100.5, 100.6, None, 100.5),  # git does nothing
        (100.5, 100.6, 100.6, 100.85),  # its lock has just been seen: look again soon
        (100.5, 150.0, 100.6, 150.25),
        (160.0, 150.0, 100.6, 160.0),  # not due anyway
        (100.5, 160.5, 100.6, 160.75),
        (100.5, 160.6, 100.6, 100.5),  # the lock stays: perhaps git was killed
        (100.5, 9999.0, 100.6, 100.5),
    ],
)
def test_git_at_work_defers_a_checkpoint_but_not_for_ever(
    due: float, now: float, busy_since: float | None, expected: float
):
    """Half a checkout is no state anybody wants back; a lock left by a crash must not end all checkpoints."""
    assert due_with_git(due, now, busy_since) == pytest.approx(expected)


def captures(seconds: float, restraint: Restraint) -> list[float]:
    """When a large file is captured that changes all the time and is dirty again as soon as it may be."""
    found, now = [], 0.0
    while now < seconds:
        if not restraint.held_back([b"big"], now):
            found.append(now)
            restraint.captured(BIG, now)
        now += PACE.patience  # never quiet: each batch takes all of its patience
    return found


def test_a_large_file_that_never_rests_is_captured_at_growing_intervals_up_to_a_limit():
    """A database of a gigabyte that is written every second would fill the disk with its copies."""
    times = captures(7200, Restraint(PACE))
    intervals = [after - before for before, after in itertools.pairwise(times)]
    assert intervals[0] <= 2 * PACE.patience
    assert intervals == sorted(intervals)
    assert intervals[3] >= 8 * PACE.patience
    assert LONGEST_REST <= intervals[-1] <= LONGEST_REST + PACE.patience
    assert len(times) < 20


def test_a_large_file_that_came_to_rest_is_captured_soon_again():
    """Yesterday's export job is no reason to capture today's edit ten minutes late."""
    restraint = Restraint(PACE)
    last = captures(3600, restraint)[-1]
    later = last + 3 * LONGEST_REST
    assert restraint.held_back([b"big"], last + 1)  # it changed once more
    assert not restraint.held_back([b"big"], later)
    restraint.captured(BIG, later)
    much_later = later + 3 * LONGEST_REST
    restraint.captured(BIG, much_later)
    assert restraint.first_release([b"big"]) == much_later + PACE.patience


def test_a_save_by_hand_does_not_make_a_large_file_rarer():
    """An agent that saves every turn would otherwise stretch the automatic captures to their longest."""
    restraint = Restraint(PACE)
    for second in range(9):
        restraint.captured(BIG, float(second))
    assert restraint.first_release([b"big"]) == 8 + PACE.patience


def test_a_small_file_is_never_held_back():
    """A log of a few kilobytes costs nothing."""
    restraint = Restraint(PACE)
    for second in range(100):
        restraint.captured({b"small": LARGE - 1}, float(second))
        assert not restraint.held_back([b"small"], second + 0.1)


def test_a_file_that_shrank_is_held_back_no_more():
    """A log that was rotated begins small."""
    restraint = Restraint(PACE)
    restraint.captured(BIG, 0.0)
    assert restraint.held_back([b"big", b"other"], 1.0) == {b"big"}
    restraint.captured({b"big": 10}, 2.0)
    assert not restraint.held_back([b"big"], 2.1)


def test_what_would_not_hold_still_is_tried_again_soon_and_then_ever_later():
    """Reading a file three times every half second, in vain, is a busy machine and no checkpoint."""
    restraint, now, waits = Restraint(PACE), 100.0, []
    for _ in range(12):
        restraint.kept_changing([b"restless"], now)
        release = restraint.first_release([b"restless"])
        assert release is not None
        waits.append(release - now)
        now = release
    assert waits[0] == PACE.quiet
    assert waits == sorted(waits)
    assert waits[-1] == LONGEST_REST


def test_the_first_release_of_files_that_do_not_rest_is_none():
    """The worker's timer must not be set for nothing."""
    assert Restraint(PACE).first_release([b"a"]) is None


def test_rests_do_not_pile_up():
    """A folder of builds makes a new large file every minute for months."""
    restraint = Restraint(PACE)
    for number in range(1000):
        restraint.captured({b"%d" % number: LARGE}, number * 100.0)
    assert len(restraint._rests) <= 2


@pytest.mark.parametrize(
    ("files", "deleted", "rewritten", "is_mass"),
    [
        (100, 50, 0, True),
        (100, 49, 0, False),
        (100, 25, 25, True),
        (100, 0, 100, True),
        (30, 19, 0, False),  # most of a small folder is still just a few files
        (30, 20, 0, True),
        (10_000, 4_999, 0, False),
        (10_000, 5_000, 0, True),
    ],
)
def test_a_mass_change_is_most_of_the_files_and_not_just_a_few(
    files: int, deleted: int, rewritten: int, is_mass: bool
):
    """The state before is pinned: too often, and pins mean nothing; too rarely, and it is pruned away."""
    found = Losses().noted(Loss(7, files, deleted, rewritten), 0.0)
    assert found == (Loss(7, files, deleted, rewritten if rewritten else 0) if is_mass else None)


def test_a_slow_deletion_over_several_checkpoints_is_one_mass_change():
    """`rm -rf` on a slow disk lasts longer than patience; what is worth keeping is the state before all of it."""
    losses = Losses()
    assert losses.noted(Loss(7, 100, 20), 0.0) is None
    assert losses.noted(Loss(8, 80, 20), 10.0) is None
    assert losses.noted(Loss(9, 60, 20), 20.0) == Loss(7, 100, 60)
    assert losses.noted(Loss(10, 40, 5), 30.0) is None, "told once"


def test_deletions_far_apart_and_files_rewritten_often_are_no_mass_change():
    """A morning's work touches every file of a small project, a few at a time."""
    losses = Losses()
    for minute in range(20):
        assert losses.noted(Loss(minute, 40, 3, 0), minute * 61.0) is None
    for second in range(100):
        assert losses.noted(Loss(second, 40, 0, 10), 5000.0 + second) is None


def test_the_constants_fit_each_other():
    """The deferral for git is checked more often than it is bounded."""
    assert settle.GIT_RECHECK < settle.GIT_PATIENCE
    assert Pace().quiet < Pace().patience < LONGEST_REST
