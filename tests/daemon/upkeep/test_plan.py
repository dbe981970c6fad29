"""Which packs are merged, told apart from merging them."""

import random

import pytest
from msgspec.structs import replace

from backtraild.upkeep.plan import Pack, plan

PLENTY = 1 << 40


def pack(name: str, size: int, live: int) -> Pack:
    """A pack of which the copy takes what is needed of it."""
    return Pack(name, size, live, live)


def packs(*sizes: int) -> list[Pack]:
    """Packs of which everything is needed, named by their place."""
    return [pack(f"p{at}", size, size) for at, size in enumerate(sizes)]


def test_small_packs_become_one() -> None:
    """Each save makes a pack: after a day there would be thousands."""
    found = plan(packs(5, 5, 6, 7), PLENTY, urgent=False)
    assert found.groups == (("p0", "p1", "p2", "p3"),)
    assert found.removed == ()
    assert not found.more


def test_a_large_pack_is_not_copied_for_the_sake_of_small_ones() -> None:
    """A first snapshot of gigabytes must not be written again with every round."""
    found = plan(packs(1000, 5, 5), PLENTY, urgent=False)
    assert found.groups == (("p1", "p2"),)


def test_two_packs_of_the_same_size_are_merged_though_a_small_one_is_between() -> None:
    """Else they would stay apart for ever, and more of their size would come."""
    assert plan(packs(1, 100, 100), PLENTY, urgent=False).groups == (("p0", "p1", "p2"),)


def test_a_large_pack_that_a_save_wrote_is_merged_once() -> None:
    """It was written in haste, and what is new in the small ones is told best as a change of what is in it."""
    first, small = Pack("first", 1000, 1000, 1000, is_hasty=True), packs(5, 5)
    assert plan([first, *small], PLENTY, urgent=False).groups == (("p0", "p1", "first"),)
    assert plan([replace(first, is_hasty=False), *small], PLENTY, urgent=False).groups == (("p0", "p1"),)
    assert plan([first, *small], PLENTY, urgent=True).groups == (("p0", "p1"),)  # somebody waits for room


def test_a_pack_that_has_grown_enough_is_merged_with_a_larger_one() -> None:
    """A file that changed lies in both, whole, until they are one."""
    assert plan(packs(15, 100), PLENTY, urgent=False).groups == ()
    assert plan(packs(17, 100), PLENTY, urgent=False).groups == (("p0", "p1"),)


def test_a_single_pack_of_which_all_is_needed_is_left_alone() -> None:
    """There is nothing to gain."""
    assert plan(packs(100), PLENTY, urgent=True).groups == ()


def test_a_pack_that_nobody_needs_is_removed_without_room_for_a_copy() -> None:
    """On a full disk, that is what makes room again."""
    found = plan([pack("dead", 100, 0), pack("live", 10, 10)], 0, urgent=True)
    assert found.removed == ("dead",)
    assert found.groups == ()
    assert not found.more


@pytest.mark.parametrize(
    ("live", "urgent", "rewritten"),
    [(76, False, False), (75, False, True), (99, True, True), (100, True, False)],
)
def test_a_pack_is_written_again_when_enough_of_it_is_no_longer_needed(
    live: int, urgent: bool, rewritten: bool
) -> None:
    """A quarter is worth the copy; when every byte counts, any byte is."""
    found = plan([pack("p", 100, live)], PLENTY, urgent)
    assert found.groups == ((("p",),) if rewritten else ())


def test_the_copies_never_take_more_than_there_is_room_for() -> None:
    """The old packs are still there when the new ones are complete."""
    print("seed 7")
    source = random.Random(7)
    for _ in range(500):
        sizes = [source.randrange(1, 10 ** source.randrange(1, 6)) for _ in range(source.randrange(1, 12))]
        given = [pack(f"p{at}", size, source.randrange(size + 1)) for at, size in enumerate(sizes)]
        room = source.randrange(sum(sizes) + 1)
        found = plan(given, room, urgent=source.random() < 0.5)
        live = {each.name: each.live for each in given}
        copied = [name for group in found.groups for name in group]
        assert sum(map(live.__getitem__, copied)) <= room
        assert len({*copied, *found.removed}) == len(copied) + len(found.removed)
        assert all(live[name] == 0 for name in found.removed)


def test_a_copy_may_take_more_than_what_it_is_made_of() -> None:
    """A change of something that goes is written out in full, and there must be room for that."""
    assert plan([Pack("p", 1000, 100, 900)], 500, urgent=True).groups == ()
    assert plan([Pack("p", 1000, 100, 900)], 900, urgent=True).groups == (("p",),)


def test_what_gives_most_for_its_copy_comes_first() -> None:
    """With little room, a cheap gain makes room for the next one."""
    found = plan([pack("costly", 1000, 700), pack("cheap", 5000, 600)], 800, urgent=True)
    assert found.groups == (("cheap",),)
    assert found.more


def test_without_room_for_anything_another_round_is_not_asked_for() -> None:
    """It would come to the same, again and again."""
    found = plan([pack("p0", 1000, 500), pack("p1", 1000, 600)], 10, urgent=True)
    assert found.groups == ()
    assert not found.more


def test_a_merge_that_does_not_fit_begins_with_the_smallest() -> None:
    """The number of packs is what slows a store down, not their size."""
    found = plan(packs(5, 6, 7, 30), 20, urgent=False)
    assert found.groups == (("p0", "p1", "p2"),)
    assert found.more


def test_a_round_does_not_take_on_thousands_of_packs() -> None:
    """While their files are removed, a save would have to wait."""
    given = [*packs(*[10] * 2500), *(pack(f"dead{at}", 5, 0) for at in range(1200))]
    found = plan(given, PLENTY, urgent=True)
    assert [len(group) for group in found.groups] == [1000]
    assert len(found.removed) == 1000
    assert found.more


def test_packs_stay_few_and_objects_are_copied_a_few_times_only() -> None:
    """Ten thousand saves, tidied every sixty: few packs at each moment, and no byte copied more than some ten times."""
    sizes: list[int] = []
    copied = 0
    for number in range(10_000):
        sizes.append(1)
        if number % 60 == 59:
            given = [pack(str(at), size, size) for at, size in enumerate(sizes)]
            for group in plan(given, PLENTY, urgent=False).groups:
                merged = {int(name) for name in group}
                copied += sum(sizes[at] for at in merged)
                sizes = [size for at, size in enumerate(sizes) if at not in merged]
                sizes.append(sum(given[at].live for at in merged))
            assert len(sizes) <= 10
    assert copied <= 10 * 10_000
