"""When a request is sent again, and what is said when it is not: no socket is needed to decide that."""

import msgspec
import pytest

from backtrail import protocol
from backtrail.errors import Bug, DaemonUnreachable, UnknownCheckpoint
from backtrail.wire.exchange import MAX_LOSSES, MAX_MISSES, Exchange, Lost, check_begun, response_of


def _save(**options):
    return Exchange(protocol.SAVE, protocol.Save(workspace="w", **options))


def _delete():
    return Exchange(protocol.DELETE, protocol.Delete(workspace="w", checkpoints=["1"]))


def _refusal(code, message, hint=""):
    error = {"code": protocol.FAILED, "message": message, "data": {"code": code, "hint": hint}}
    return response_of([msgspec.json.encode({"jsonrpc": "2.0", "id": "x", "error": error})])


def _params(exchange):
    return msgspec.json.decode(exchange.payload)["params"]


def test_every_save_has_a_mark_of_its_own_that_stays_when_it_is_sent_again():
    """By it the daemon knows a repetition, so that no checkpoint is made twice."""
    first, second = _save(), _save()
    assert _params(first)["request"] != _params(second)["request"]
    assert _params(_save(request="mine"))["request"] == "mine"
    assert "request" not in _params(_delete())


def test_a_lost_save_is_sent_again_and_a_lost_delete_is_not():
    """Numbers never come back, but “delete @” sent twice deletes two."""
    _save().lost(Lost(sent=True))
    with pytest.raises(DaemonUnreachable, match="not known whether “delete” was carried out"):
        _delete().lost(Lost(sent=True))


def test_what_was_certainly_not_seen_is_sent_again_whatever_it_is():
    """A daemon that was not there has deleted nothing."""
    _delete().lost(Lost(sent=False))


def test_a_request_that_takes_the_daemon_down_is_given_up():
    """Else one bad file would restart the daemon for ever."""
    exchange = _save()
    for _ in range(MAX_LOSSES):
        exchange.lost(Lost(sent=True))
    with pytest.raises(DaemonUnreachable, match="not known whether the checkpoint was made") as failure:
        exchange.lost(Lost(sent=True))
    assert "`backtrail list` shows it" in failure.value.hint


def test_only_what_may_have_been_done_is_called_uncertain():
    """“It is not known” frightens people, so it is said only where it is true and matters."""
    never_sent, looked = _save(), Exchange(protocol.LIST, protocol.List(workspace="w"))
    never_sent.lost(Lost(sent=False))
    looked.lost(Lost(sent=True))
    for exchange in (never_sent, looked):
        assert exchange.given_up(DaemonUnreachable("Gone.")).message == "Gone."


def test_a_client_that_is_not_let_in_does_not_try_again():
    """A wrong key stays wrong."""
    with pytest.raises(DaemonUnreachable, match="does not let this client in"):
        _save().lost(Lost(sent=False, denied=True))


def test_an_error_of_the_daemon_is_raised_as_its_own_class():
    """With the daemon's sentence and hint."""
    answer = _refusal("unknown-checkpoint", "No.", "Look.")
    with pytest.raises(UnknownCheckpoint, match="No\\.") as failure:
        _save().result(answer)
    assert failure.value.hint == "Look."


def test_an_answer_of_the_wrong_shape_is_a_bug_of_the_daemon():
    """Not a KeyError in the user's program."""
    with pytest.raises(Bug, match="not what the protocol says"):
        _save().result(response_of([b'{"jsonrpc":"2.0","id":"x","result":{"number":"seven"}}']))


def test_what_is_no_answer_at_all_is_none():
    """It belongs to no request, so nobody waits for it."""
    assert response_of([b"\xff"]) is None
    assert response_of([b"[]"]) is None


def test_a_daemon_that_is_ending_has_not_begun():
    """Its successor is asked instead."""
    answer = _refusal("daemon-stopping", "Ending.")
    with pytest.raises(Lost) as loss:
        check_begun(answer)
    assert not loss.value.sent


def test_attempts_that_find_nobody_come_further_and_further_apart():
    """A daemon that is just starting, or that two hundred others ask at once, needs a moment."""
    exchange = Exchange(protocol.PING, protocol.Ping())
    pauses = []
    for _ in range(MAX_MISSES):
        exchange.lost(Lost(sent=False))
        pauses.append(exchange.pause())
    assert pauses[:3] == [0.0, 0.01, 0.02]
    assert pauses == sorted(pauses)
    assert 1.0 < sum(pauses) < 5.0
