"""What a follower makes of what it hears: nothing is lost, nothing comes twice, the order is kept."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from backtrail.values import CheckpointEvent, EventPage, Heartbeat
from backtrail.wire.following import Trail, beginning, news_of


def _event(seq, epoch="one", kind="checkpoint_created", workspace="w"):
    return CheckpointEvent(
        epoch=epoch, seq=seq, type=kind, workspace=workspace, root="/w", timestamp=datetime.now(UTC), data={}
    )


def _page(log, since, limit=3, epoch="one"):
    events = [event for event in log if event.seq > since][:limit]
    return EventPage(events=events, newest=max((event.seq for event in log), default=0), epoch=epoch)


def _caught_up(trail, log, epoch="one"):
    found = []
    while trail.in_doubt:
        found += trail.read(_page(log, trail.seq, epoch=epoch))
    return [event.seq for event in found]


def _heard(trail, *news):
    return [event.seq for each in news for event in trail.hear(each)]


def test_who_follows_begins_now_and_who_does_not_begins_with_the_first():
    """Without a number, there would be nothing to tell to those who do not wait for what happens."""
    assert [beginning(None, 7, follow=follow) for follow in (True, False)] == [7, 0]
    assert [beginning(3, 7, follow=follow) for follow in (True, False)] == [3, 3]


def test_a_follower_asks_the_log_before_anything_else():
    """What happened between `since` and the subscription is nowhere else."""
    trail = Trail(2)
    assert trail.in_doubt
    assert _heard(trail, _event(5)) == []
    assert _caught_up(trail, [_event(seq) for seq in range(1, 9)]) == [3, 4, 5, 6, 7, 8]
    assert _heard(trail, _event(8), _event(9)) == [9]


def test_a_gap_a_heartbeat_ahead_and_another_run_each_send_it_to_the_log():
    """These are the ways in which a loss shows."""
    for sign in (_event(3), Heartbeat(epoch="one", seq=2), Heartbeat(epoch="two", seq=1), _event(2, "two")):
        trail = Trail(1)
        _caught_up(trail, [_event(1)])
        assert _heard(trail, sign) == []
        assert trail.in_doubt


def test_a_heartbeat_in_step_is_no_reason_to_ask():
    """Every five seconds, from every follower: that would add up."""
    trail = Trail(1)
    _caught_up(trail, [_event(1)])
    _heard(trail, Heartbeat(epoch="one", seq=1), Heartbeat(epoch="one", seq=0), _event(1))
    assert not trail.in_doubt


def test_a_log_that_was_lost_is_told_from_its_beginning():
    """Its numbers are smaller than the follower's, which would else wait for ever."""
    trail = Trail(50)
    assert _caught_up(trail, [_event(1, "two"), _event(2, "two")], "two") == [1, 2]
    assert _heard(trail, _event(3, "two")) == [3]


def test_only_the_wanted_workspace_is_told_and_progress_only_on_demand():
    """Other folders' events still count, or each would look like a gap."""
    trail = Trail(0, workspace="mine")
    _caught_up(trail, [])
    news = (
        _event(1, workspace="other"),
        _event(2, workspace="mine"),
        _event(2, kind="progress", workspace="mine"),
    )
    assert _heard(trail, *news) == [2]
    curious = Trail(0, workspace="mine", progress=True)
    _caught_up(curious, [])
    assert _heard(curious, *news) == [2, 2]


def test_progress_never_runs_ahead_of_the_events_before_it():
    """Whoever remembers the last number it saw would skip them."""
    trail = Trail(1, progress=True)
    _caught_up(trail, [_event(1)])
    assert _heard(trail, _event(4, kind="progress")) == []
    assert _caught_up(trail, [_event(seq) for seq in range(1, 5)]) == [2, 3, 4]


def test_a_message_that_can_not_be_read_is_left_out():
    """The next one shows the hole."""
    assert news_of([b"w/x", b"{"]) is None
    assert news_of([b"w/x"]) is None
    assert news_of([b"heartbeat", b'{"epoch":"e","seq":4}']) == Heartbeat(epoch="e", seq=4)


@given(st.data(), st.integers(0, 12))
def test_whatever_is_dropped_or_repeated_every_event_comes_once_and_in_order(data, since):
    """Publishing may lose, repeat and stop at any point; restarts change the run."""
    trail, log, got, epoch = Trail(since), [_event(seq) for seq in range(1, since + 1)], [], "one"
    for _ in range(data.draw(st.integers(1, 30))):
        what = data.draw(st.sampled_from(["event", "lost", "again", "heartbeat", "restart"]))
        if what == "restart":
            epoch += "+"
            trail.in_doubt = True  # the connection was lost
        if what in ("event", "lost"):
            log.append(_event(len(log) + 1, epoch))
        heard = {"event": log[-1:], "again": log[-1:], "heartbeat": [Heartbeat(epoch=epoch, seq=len(log))]}
        got += _heard(trail, *heard.get(what, []))
        got += _caught_up(trail, log, epoch)
    got += _heard(trail, Heartbeat(epoch=epoch, seq=len(log)))
    got += _caught_up(trail, log, epoch)
    assert got == list(range(since + 1, len(log) + 1))


def test_numbers_that_the_log_does_not_have_are_told_once():
    """Old events are let go, and a power cut may take some: who follows must not take the rest for everything."""
    trail = Trail(2)
    found = []
    while trail.in_doubt:
        found += trail.read(_page([_event(seq) for seq in (6, 7, 9)], trail.seq))
    assert [(event.type, event.seq) for event in found] == [
        ("events_missing", 5),
        ("checkpoint_created", 6),
        ("checkpoint_created", 7),
        ("events_missing", 8),
        ("checkpoint_created", 9),
    ]
    assert found[0].data == {"first": 3, "last": 5}


def test_numbers_after_the_last_event_are_told_and_not_asked_for_again():
    """After a power cut, the log may end before the last number that was given out."""
    trail = Trail(2, workspace="w")
    (told,) = trail.read(EventPage(events=[], newest=1000, epoch="two"))
    assert (told.type, told.data) == ("events_missing", {"first": 3, "last": 1000})
    assert not trail.in_doubt
    assert _heard(trail, Heartbeat(epoch="two", seq=1000), _event(1001, "two")) == [1001]
    assert not trail.in_doubt
