"""The state of a workspace and the events about it."""

from backtrail.errors import StoreFailed
from backtraild.health import Health


class Told(list[tuple[str, str]]):
    """What was told; refuses for a while when asked to."""

    refusing = False

    def __call__(self, kind, data):
        if self.refusing:
            raise StoreFailed("The disk is full.")
        self.append((kind, data["reason"]))


def test_the_same_trouble_is_told_once_and_its_end_once():
    """A retry every few seconds must not fill the log with the same sentence."""
    told = Told()
    health = Health(told)
    health.activity = "watching"
    for _ in range(3):
        health.trouble("work", "The disk is full.")
    assert health.state == "degraded"
    assert health.reasons == ["The disk is full."]
    for _ in range(2):
        health.well("work")
    assert health.state == "watching"
    assert told == [("degraded", "The disk is full."), ("recovered", "The disk is full.")]


def test_another_reason_of_the_same_cause_is_told():
    """First the folder is gone, then an empty one is in its place: both are news."""
    told = Told()
    health = Health(told)
    health.trouble("work", "gone")
    health.trouble("work", "empty")
    assert [reason for _, reason in told] == ["gone", "empty"]
    assert health.reasons == ["empty"]


def test_recovered_is_told_when_nothing_is_wrong_any_more():
    """`recovered` with a trouble left would be a lie."""
    told = Told()
    health = Health(told)
    health.trouble("work", "The disk is full.")
    health.trouble("watches", "3 folders can't be watched.")
    health.well("work")
    assert health.state == "degraded"
    assert [kind for kind, _ in told] == ["degraded", "degraded"]
    health.well("watches")
    assert [kind for kind, _ in told] == ["degraded", "degraded", "recovered"]


def test_what_can_not_be_told_now_is_told_later_in_its_order():
    """The disk that is too full for a checkpoint is too full for the event about it."""
    told = Told()
    health = Health(told)
    told.refusing = True
    health.trouble("work", "The disk is full.")
    assert health.state == "degraded"
    assert told == []
    told.refusing = False
    health.well("work")
    assert [kind for kind, _ in told] == ["degraded", "recovered"]


def test_what_is_well_and_was_never_wrong_is_no_news():
    """Every save says that all is well."""
    told = Told()
    Health(told).well("work")
    assert told == []


def test_what_was_wrong_before_everything_began_anew_is_not_wrong_any_more():
    """Somebody who only heard that it is degraded would wait for ever."""
    told = Told()
    health = Health(told)
    health.trouble("space", "full")
    health.trouble("work", "broken")
    health.begin_anew()
    assert health.reasons == []
    assert [kind for kind, _ in told] == ["degraded", "degraded", "recovered"]
