"""When a worker lets others go first: told the time, and nothing else."""

from backtraild.courtesy import MOST_SECONDS, SECONDS, Courtesy

NOW = 1000.0


def test_an_answer_goes_first_but_not_for_ever():
    """Who asks all day must not keep the worker from its own work; it comes to it again and again."""
    courtesy = Courtesy()
    asked = [NOW + step * MOST_SECONDS / 4 for step in range(10)]
    due = [courtesy.is_due(True, None, now) for now in asked]
    assert due == [True, True, True, True, False, True, True, True, True, False]


def test_after_a_quiet_moment_the_patience_is_as_long_as_before():
    """Two requests far from each other are not one that lasts."""
    courtesy = Courtesy()
    assert courtesy.is_due(True, None, NOW)
    assert not courtesy.is_due(False, None, NOW + MOST_SECONDS)
    assert courtesy.is_due(True, None, NOW + 2 * MOST_SECONDS)


def test_a_change_is_looked_at_a_moment_after_it_was_noticed():
    """Whoever wrote a file may save in the next moment; what keeps changing is looked at all the same."""
    courtesy = Courtesy()
    assert courtesy.is_due(False, NOW, NOW)
    assert not courtesy.is_due(False, NOW, NOW + SECONDS)
    assert not courtesy.is_due(False, None, NOW)


def test_what_wakes_the_worker_after_an_answer_waits_until_that_is_on_its_way():
    """A restore's own changes are noticed while it is answered, and must not be looked at before."""
    courtesy = Courtesy()
    assert courtesy.is_due(True, None, NOW)
    assert courtesy.is_due(False, NOW - 1, NOW + SECONDS / 2)
    assert not courtesy.is_due(False, NOW - 1, NOW + SECONDS)
