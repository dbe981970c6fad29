"""One store at a time is worked on."""

from backtraild.housekeeping import Gate


def test_one_at_a_time_goes_in_and_those_turned_away_are_woken():
    """Ten stores that are tidied at once would take the disk from everybody else."""
    gate, woken = Gate(), []

    def one() -> None:
        woken.append("one")

    def other() -> None:
        woken.append("other")

    def third() -> None:
        woken.append("third")

    assert gate.enter(one)
    assert not gate.enter(other)
    assert not gate.enter(third)
    gate.leave(third)  # it was stopped while it waited
    gate.leave(one)
    assert woken == ["other"]
    assert gate.enter(other)
    gate.leave(one)  # again, which changes nothing
    assert not gate.enter(one)
    gate.leave(other)
    assert gate.enter(one)
