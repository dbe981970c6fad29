"""A few rounds of what `make torture` does to the sockets for hours, and the messages that are always tried."""

from pathlib import Path

import msgspec
import pytest

from backtrail.methods import methods
from support import corpus
from torture.campaigns import wire
from torture.short import rounds

_METHODS = {method.name: method for method in methods()}


def test_bytes_and_words_changed_at_random_are_refused_with_a_sentence_by_both_sides(tmp_path: Path):
    """Neither a client nor the daemon may fail because of what the other one says."""
    counted = rounds(wire, "fuzz-envelope", range(1), tmp_path)
    assert counted["accepted as requests"] > 50


def test_whatever_arrives_at_a_socket_the_daemon_works_on_and_has_not_grown(tmp_path: Path):
    """A scanner, a broken library, somebody who tries it on."""
    assert rounds(wire, "fuzz-socket", [4], tmp_path)["attacks"] == wire.ATTACKS


def test_noise_at_the_port_for_the_network_harms_nobody(tmp_path: Path):
    """Everybody in the network can reach it before any key is asked for."""
    assert rounds(wire, "fuzz-socket", [3], tmp_path)["attacks"] == wire.ATTACKS


def test_any_requests_one_after_the_other_leave_what_is_stored_as_it_was(tmp_path: Path):
    """They only ask; a daemon that is asked nonsense still has every checkpoint."""
    assert rounds(wire, "fuzz-methods", range(1), tmp_path)["requests"] > 50


@pytest.mark.parametrize("name", sorted(_METHODS))
def test_the_corpus_has_a_request_of_every_method_that_is_accepted(name: str):
    """What is changed at random gets nowhere if what it began with is refused."""
    message = corpus.messages()[name.replace("_", "-")]
    request = msgspec.json.decode(message, type=wire.envelope.Request)
    assert request.method == name
    params = wire.envelope.decode_params(request, _METHODS[name].params)
    known = {field.encode_name for field in msgspec.structs.fields(type(params))}
    assert set(msgspec.json.decode(request.params)) <= known
