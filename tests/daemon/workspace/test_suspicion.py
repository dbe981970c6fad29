"""When damage that a reader meets is worth a look at everything."""

from backtraild.workspace.suspicion import LATER_SECONDS, SOON_SECONDS, Suspicion

BROKEN, OTHER = "Object 1 can't be used.", "Object 2 can't be used."


def tried_in_vain() -> Suspicion:
    suspicion = Suspicion()
    assert suspicion.meet(BROKEN, "tree", 0.0)
    suspicion.looked(0, "tree", 10.0)
    return suspicion


def test_the_first_damage_calls_for_a_look():
    """The disk may have what the store has lost, as long as nobody changes it."""
    suspicion = Suspicion()
    assert suspicion.meet(BROKEN, "tree", 0.0)
    assert suspicion.reason == BROKEN


def test_what_a_look_did_not_help_is_left_alone_for_a_day():
    """A file that is lost for good must not have the whole folder read again whenever somebody asks for it."""
    suspicion = tried_in_vain()
    assert not suspicion.meet(BROKEN, "tree", 9.0 + LATER_SECONDS)
    assert suspicion.reason is None
    assert suspicion.meet(BROKEN, "tree", 10.0 + LATER_SECONDS)


def test_other_files_or_other_damage_are_worth_another_look_after_an_hour():
    """What was lost may have come back with a change, and what was whole an hour ago may be broken now."""
    for damage, tree in ((BROKEN, "another tree"), (OTHER, "tree")):
        assert not tried_in_vain().meet(damage, tree, 9.0 + SOON_SECONDS)
        assert tried_in_vain().meet(damage, tree, 10.0 + SOON_SECONDS)


def test_many_lost_objects_cost_one_look_and_not_one_each():
    """Whoever goes through a list with a thousand damaged files waits for one look, not for a thousand."""
    suspicion = Suspicion()
    looks = 0
    for number in range(1000):
        if suspicion.meet(f"Object {number} can't be used.", "tree", float(number)):
            looks += 1
            suspicion.looked(0, "tree", float(number))
    assert looks == 1


def test_after_a_look_that_helped_new_damage_is_looked_at_at_once():
    """Damage that can be healed is healed, however often it comes."""
    suspicion = tried_in_vain()
    suspicion.raise_for("`verify` found it")
    suspicion.looked(3, "tree", 20.0)
    assert suspicion.meet(OTHER, "tree", 21.0)
