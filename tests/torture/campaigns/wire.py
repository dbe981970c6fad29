"""Whatever arrives at the sockets, from bytes that mean nothing to requests that mean too much: R8."""

import json
import os
import random
import socket
from typing import Any

import msgspec
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from backtrail import keys, protocol
from backtrail.methods import methods
from backtrail.paths import places
from backtrail.wire.exchange import response_of
from backtrail.wire.following import news_of
from backtrail.wire.progress import progress_of
from backtraild.server import envelope, messages
from backtraild.server.envelope import Refusal
from support import corpus, wire_attacks
from support.parameters import asked
from support.target import Target, target
from support.vitals import MEGABYTE, Vitals
from support.wire import Wire
from torture.campaign import Campaign, Counts, Round

# A message that is refused is not repeated in the answer as a whole.
LONGEST_REFUSAL = 10_000
MUTATIONS = 5_000
ATTACKS = 6
SEQUENCES = 25

_METHODS = {method.name: method for method in methods()}
# These end the daemon or the workspace, or ask other machines.
_LEFT_OUT = ("stop", "unwatch", "mirror", "fork", "branch", "watch", "migrate")
# These change the workspace or its checkpoints, which the round compares in the end.
_CHANGING = ("save", "restore", "undo", "rewind", "delete", "prune", "turn_start", "session_delete", "resume")


def envelope_round(turn: Round) -> Counts:
    """Requests, answers and events with bytes and words changed, read by both sides."""
    source, known = turn.source, list(corpus.messages().values())
    for message in known:
        _read_by_both(message)
    before = Vitals.of(os.getpid())
    accepted = sum(_read_by_both(corpus.mutated(source, known)) for _ in range(MUTATIONS))
    grown = Vitals.of(os.getpid()).memory - before.memory
    assert grown < 10 * MEGABYTE, f"round {turn.number}: grown by {grown:,} bytes"
    return {"messages": MUTATIONS, "accepted as requests": accepted, "most bytes grown": max(0, grown)}


def _read_by_both(message: bytes) -> bool:
    """Whether the daemon takes it for a request that it can begin with."""
    for frames in ([message], [b"w/progress", message], [b"heartbeat", message]):
        response_of(frames), news_of(frames), progress_of(frames, "1")
    msgspec.json.decode(messages.shown(message))
    try:
        request = envelope.read(message)
        method = _METHODS.get(request.method)
        if method is None:
            raise envelope.unknown_method(request)
        envelope.decode_params(request, method.params)
    except Refusal as refusal:
        answer = refusal.encode()
        told = json.loads(answer)["error"]
        assert told["message"].endswith((".", "…")), (message, answer)
        assert len(answer) < LONGEST_REFUSAL, (message, answer)
        return False
    return True


def socket_round(turn: Round) -> Counts:
    """Attacks on both local sockets, every fourth time on a port with keys, with a look after each."""
    source = turn.source
    if turn.number % 4 == 3:
        return _attacked_over_network(turn, source)
    with target(turn.folder) as found:
        daemon, counts = found.daemon, dict[str, float]()
        for _ in range(ATTACKS):
            endpoint, attacks = source.choice(
                ((daemon.requests, wire_attacks.ON_REQUESTS), (daemon.events, wire_attacks.ON_EVENTS))
            )
            _attack(found, source.choice(attacks), source, endpoint, counts)
        return {**counts, "most bytes grown": found.check_unharmed()}


def _attacked_over_network(turn: Round, source: random.Random) -> Counts:
    port = _free_ports()
    configuration = f'[server]\nlisten = "127.0.0.1:{port}"\n'
    home = turn.folder / "home"
    (home / "config").mkdir(parents=True)
    (home / "config" / "config.toml").write_text(configuration)
    (turn.folder / "desk").mkdir()
    keys.invite(places(home), "somebody", output=turn.folder / "desk")
    with target(turn.folder, configuration) as found:
        counts: dict[str, float] = {}
        for _ in range(ATTACKS):
            endpoint = f"tcp://127.0.0.1:{source.choice((port, port + 1))}"
            _attack(found, source.choice(wire_attacks.ON_ANY), source, endpoint, counts)
        return {**counts, "most bytes grown": found.check_unharmed()}


def _attack(
    found: Target,
    attack: wire_attacks.Attack,
    source: random.Random,
    endpoint: str,
    counts: dict[str, float],
) -> None:
    count = wire_attacks.made(attack, source, endpoint)
    found.check_alive(f"after {attack.__name__} at {endpoint}")
    counts["attacks"] = counts.get("attacks", 0) + 1
    counts["connections and messages"] = counts.get("connections and messages", 0) + count


def _free_ports() -> int:
    """A port that is free, and the next one, too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = int(first.getsockname()[1])
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def methods_round(turn: Round) -> Counts:
    """Sequences of requests with fitting and mistyped parameters, sent without waiting for answers."""
    names = sorted(set(_METHODS) - {*_LEFT_OUT, *_CHANGING})
    with target(turn.folder) as found:
        one = st.sampled_from(names).flatmap(
            lambda name: st.tuples(st.just(name), asked(_METHODS[name], found.workspace))
        )
        sent = 0

        @seed(turn.number)
        @settings(
            max_examples=SEQUENCES,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(st.lists(one, min_size=1, max_size=20))
        def ask_all(sequence: list[tuple[str, dict[str, Any]]]) -> None:
            nonlocal sent
            with found.daemon.wire() as wire:
                _ask_all(wire, sequence)
            sent += len(sequence)
            found.check_alive(f"round {turn.number}, after {sequence}")

        ask_all()
        return {"requests": sent, "most bytes grown": found.check_unharmed()}


def _ask_all(wire: Wire, sequence: list[tuple[str, dict[str, Any]]]) -> None:
    """Every request is answered once, by its id, and never with a bug."""
    asked_for = {wire.send(name, **params): (name, params) for name, params in sequence}
    for _ in sequence:
        answer = wire.receive()
        name, params = asked_for.pop(answer["id"])
        error = answer.get("error")
        assert error is None or error["code"] != protocol.INTERNAL_ERROR, (name, params, error)


def subscriptions_round(turn: Round) -> Counts:
    """Very many subscriptions of one connection, which is closed then: the C library would keep their memory."""
    with target(turn.folder) as found:
        enough = Vitals.of(found.daemon.pid).memory + 30 * MEGABYTE
        with found.daemon.wire() as wire:
            count = wire_attacks.subscribed_until(
                found.daemon.events,
                publish=lambda: wire.result("save", workspace=found.workspace, allow_empty=True),
                is_enough=lambda: Vitals.of(found.daemon.pid).memory > enough,
            )
        assert count < 500_000
        found.check_memory()
    return {"subscriptions": count}


CAMPAIGNS = (
    Campaign(
        "fuzz-envelope",
        "R8",
        "Any bytes are read as a request or refused with a sentence, by both sides, without growing.",
        500,
        envelope_round,
    ),
    Campaign(
        "fuzz-socket",
        "R8",
        "After any bytes on any socket the daemon answers within a second, and has grown by nothing.",
        300,
        socket_round,
    ),
    Campaign(
        "fuzz-methods",
        "R8",
        "Any sequence of requests with any parameters is answered, and what is stored stays as it was.",
        200,
        methods_round,
    ),
    Campaign(
        "fuzz-subscriptions",
        "R8",
        "The memory that hundreds of thousands of subscriptions took is given back when they end.",
        20,
        subscriptions_round,
    ),
)
