"""What a store needs next: decided from figures alone."""

from typing import Any

import pytest

from backtraild.housekeeping.plan import Copies, Situation, Step, copies, next_step
from backtraild.workspace import Bound


def situation(**others: Any) -> Situation:
    return Situation(**{"used": 50, "cap": 100, "packs": 5, "has_rubbish": False, "refused": None, **others})


@pytest.mark.parametrize(
    ("found", "step"),
    [
        (situation(), Step.NOTHING),
        (situation(used=85), Step.NOTHING),
        (situation(used=86), Step.WEIGH),
        (situation(used=86, is_exhausted=True), Step.NOTHING),
        (situation(used=86, is_exhausted=True, has_rubbish=True), Step.TIDY),
        (situation(used=86, is_unfinished=True), Step.GIVE_BACK),
        (situation(is_unfinished=True), Step.NOTHING),
        (situation(refused=Bound.CAP), Step.WEIGH),
        (situation(refused=Bound.FLOOR), Step.GIVE_BACK),
        (situation(refused=Bound.FLOOR, is_exhausted=True), Step.NOTHING),
        (situation(packs=60), Step.NOTHING),
        (situation(packs=61), Step.TIDY),
        (situation(has_rubbish=True), Step.TIDY),
    ],
)
def test_the_most_urgent_thing_comes_first_and_nothing_is_done_without_need(found: Situation, step: Step):
    """An idle daemon costs nothing, and a full store is seen to before a tidy one."""
    assert next_step(found) is step


@pytest.mark.parametrize(
    ("packs", "left", "expected"),
    [(1000, 0, False), (1001, 0, True), (3500, 2500, False), (3501, 2500, True)],
)
def test_as_many_packs_as_a_round_can_merge_are_a_backlog(packs: int, left: int, expected: bool):
    """Those that the last round had to leave are none: the next one would leave them, too."""
    assert situation(packs=packs, packs_left=left).has_backlog is expected


@pytest.mark.parametrize(
    ("cap_left", "disk_room", "largest", "expected"),
    [
        (1000, 10**9, 100, Copies(500, 500)),
        (1000, 300, 100, Copies(300, 300)),
        (1000, 10**9, 600, Copies(600, 0)),
        (-50, 10**9, 600, Copies(600, 0)),
        (-50, 10, 600, Copies(10, 0)),
        (1000, 0, 600, Copies(0, 0)),
    ],
)
def test_copies_leave_room_for_saves_and_a_full_store_can_be_tidied(cap_left, disk_room, largest, expected):
    """Upkeep that needs more room than there is would leave a full store full for ever."""
    assert copies(cap_left, disk_room, largest) == expected
