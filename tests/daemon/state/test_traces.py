"""What is told from a bit for each request: that most of them are new, and never that one is new which is not."""

import random

from backtraild.state.traces import BITS, Traces


def _names(seed: int, count: int) -> list[str]:
    source = random.Random(seed)
    return [f"{source.getrandbits(128):032x}" for _ in range(count)]


def test_who_left_a_trace_is_never_told_to_be_new():
    """A save that is asked for again would be made twice."""
    seen = _names(1, 10_000)
    traces = Traces(seen[:5_000])
    for name in seen[5_000:]:
        traces.leave(name)
    assert all(map(traces.may_be_of, seen))


def test_nearly_all_that_are_new_are_known_to_be_after_ten_thousand_others():
    """Every save begins with this question, and is spared the table for it."""
    traces = Traces(_names(1, 10_000))
    doubtful = sum(map(traces.may_be_of, _names(2, 10_000)))
    assert 0 < doubtful < 600


def test_however_many_there_were_they_take_the_same_room():
    """A daemon runs for months."""
    traces = Traces(_names(3, 100))
    for name in _names(4, 50_000):
        traces.leave(name)
    assert len(traces._bits) == BITS // 8
