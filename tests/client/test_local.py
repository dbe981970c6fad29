"""A connection to a daemon on this machine, at a real ROUTER and at peers that do everything wrong."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from backtrail.protocol import ConnectionFile
from backtrail.wire import local
from backtrail.wire.connection import connect
from backtrail.wire.deadline import Deadline
from backtrail.wire.exchange import Lost, Silent
from backtrail.wire.local import LocalConnection
from support import peers, zmtp
from support.peers import (
    Deed,
    answer,
    hears,
    leaves_unread,
    lets_in,
    misbehaving,
    router,
    says,
    silence,
    stops_its_ears,
    takes,
)
from support.watching import eventually

ASKED = b'{"jsonrpc":"2.0","id":"mine","method":"ping"}'
LARGE = b"x" * 8_000_000
ANSWERED = zmtp.frame(answer("mine", "done"))
# With so much behind it that the client has read the question before the answer comes.
QUESTION = zmtp.command(b"PING", b"\0\0") + zmtp.frame(answer("older", "z" * 1_000_000))
A_MOMENT, LONG = 0.2, 20.0

Connect = Callable[[ConnectionFile], LocalConnection]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "socket"


@pytest.fixture
def connected() -> Iterator[Connect]:
    """Connections that are closed whatever becomes of the test."""
    made: list[LocalConnection] = []

    def make(where: ConnectionFile) -> LocalConnection:
        made.append(LocalConnection(where))
        return made[-1]

    yield make
    for each in made:
        each.close()


def asked(connection: LocalConnection, payload: bytes = ASKED, seconds: float | None = LONG) -> object:
    """What it answers to `mine`."""
    return msgspec.json.decode(connection.ask("mine", payload, Deadline(seconds)).result)


def loss(connection: LocalConnection, payload: bytes = ASKED, seconds: float | None = LONG) -> Lost:
    """How it is lost."""
    with pytest.raises(Lost) as found:
        asked(connection, payload, seconds)
    return found.value


def test_endpoints_on_this_machine_are_spoken_to_without_zeromq_and_others_with_it(path: Path):
    """Only ZeroMQ can encrypt; here nobody listens in, and it would cost two threads' wake-ups a request."""
    for where, kind in ((peers.at(path), "LocalConnection"), (_over_tcp(path), "RemoteConnection")):
        connection = connect(where)
        assert type(connection).__name__ == kind
        connection.close()


def _over_tcp(path: Path) -> ConnectionFile:
    return msgspec.structs.replace(peers.at(path), requests="tcp://127.0.0.1:1")


def test_requests_are_answered_one_after_the_other_on_one_connection(path: Path, connected: Connect):
    """Connecting anew each time would take longer than the answer."""
    names: list[bytes] = []

    def count(frames: list[bytes]) -> list[list[bytes]]:
        names.append(frames[0])
        return [[answer("mine", len(names))]]

    with router(path, count) as where:
        connection = connected(where)
        assert [asked(connection) for _ in range(3)] == [1, 2, 3]
        assert connection.is_usable()
    assert names == [ASKED] * 3


@pytest.mark.parametrize("size", [0, 190, 220, 100_000, 12_000_000])
def test_requests_and_answers_of_any_size_get_through(path: Path, connected: Connect, size: int):
    """A socket takes and gives a fifth of a megabyte at a time, a file is read in pieces of eight."""
    content = "y" * size

    def echo(frames: list[bytes]) -> list[list[bytes]]:
        return [[answer("mine", msgspec.json.decode(frames[0]))]]

    with router(path, echo) as where:
        assert asked(connected(where), msgspec.json.encode(content)) == content


def test_answers_that_are_not_ours_are_passed_over(path: Path, connected: Connect):
    """One to a request that nobody waits for any more, one that is no JSON, one with empty frames before it."""
    told = [[answer("older", "wrong")], [b"\xff"], [b"", b"", answer("mine", "right")]]
    with router(path, lambda _: told) as where:
        connection = connected(where)
        assert asked(connection) == "right"
        assert asked(connection) == "right"


def test_a_daemon_that_ends_is_noticed_while_nobody_asks(path: Path, connected: Connect):
    """The next request must not be the one that finds out."""
    with router(path, lambda _: [[answer("mine")]]) as where:
        connection = connected(where)
        asked(connection)
        assert connection.is_usable()
    eventually(lambda: not connection.is_usable())
    assert not loss(connection).sent


def test_whom_zeromq_turns_away_is_told_so(path: Path, connected: Connect):
    """Another user's daemon stays another's, however often it is asked."""
    with router(path, lambda _: [], denies=True) as where:
        found = loss(connected(where))
    assert (found.sent, found.denied) == (False, True)


def test_nobody_there_means_that_nothing_was_sent(path: Path, connected: Connect, tmp_path: Path):
    """No file, one that a killed daemon left, one that is no socket, a path that no socket can have."""
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    (tmp_path / "file").touch()
    for place in (path, tmp_path / "nothing", tmp_path / "file", tmp_path / ("long" * 50)):
        found = loss(connected(peers.at(place)))
        assert (found.sent, found.denied) == (False, False), place


def test_a_door_with_too_many_before_it_means_that_nothing_was_sent(path: Path, connected: Connect):
    """Two hundred clients at once are too many for a moment; each comes back a little later."""
    with socket.socket(socket.AF_UNIX) as busy, socket.socket(socket.AF_UNIX) as first:
        busy.bind(str(path))
        busy.listen(0)
        first.connect(str(path))
        assert not loss(connected(peers.at(path))).sent


def test_a_relative_path_is_taken_from_the_current_folder(
    path: Path, connected: Connect, monkeypatch: pytest.MonkeyPatch
):
    """As ZeroMQ does it, in a connection file that somebody wrote by hand."""
    monkeypatch.chdir(path.parent)
    with router(path, lambda _: [[answer("mine", "near")]]):
        assert asked(connected(peers.at(path.name))) == "near"


@pytest.mark.parametrize("deeds", [(silence,), (says(zmtp.GREETING), silence)], ids=["no word", "a greeting"])
def test_a_daemon_that_accepts_and_says_nothing_is_silent_at_the_deadline(
    path: Path, connected: Connect, deeds: tuple[Deed, ...]
):
    """One that was stopped still has a socket that the system answers at."""
    with misbehaving(path, *deeds) as where, pytest.raises(Silent):
        asked(connected(where), seconds=A_MOMENT)


def test_without_a_deadline_a_daemon_that_lets_nobody_in_is_given_up(
    path: Path, connected: Connect, monkeypatch: pytest.MonkeyPatch
):
    """A watch waits for ever for its baseline, but not for a handshake."""
    monkeypatch.setattr(local, "HANDSHAKE_SECONDS", A_MOMENT)
    with misbehaving(path, silence) as where:
        assert not loss(connected(where), seconds=None).sent


@pytest.mark.parametrize(
    "deeds",
    {
        "goes at once": (),
        "goes after the greeting": (says(zmtp.GREETING),),
        "goes without reading": (leaves_unread,),
        "is something else": (says(b"HTTP/1.1 400 Bad Request\r\n"), silence),
        "wants a password": (says(zmtp.greeting(b"PLAIN")), silence),
        "is old": (says(zmtp.greeting(b"NULL", version=b"\x02\x00")), silence),
        "is the wrong socket": (says(zmtp.GREETING + zmtp.ready(b"PUB")), silence),
        "answers before it is asked": (says(zmtp.GREETING + ANSWERED), silence),
        "says too much": (says(zmtp.GREETING + zmtp.announced(2**62)), silence),
    }.items(),
    ids=lambda case: case[0],
)
def test_who_does_not_let_us_in_has_seen_nothing(
    path: Path, connected: Connect, deeds: tuple[str, tuple[Deed, ...]]
):
    """So a delete may be sent again, to a daemon that understands it."""
    with misbehaving(path, *deeds[1]) as where:
        found = loss(connected(where))
    assert (found.sent, found.denied) == (False, False)


@pytest.mark.parametrize(
    "deeds",
    {
        "goes": (),
        "breaks the connection": (says(zmtp.frame(answer("older"))), leaves_unread),
        "claims a gigantic answer": (says(zmtp.announced(2**62)), silence),
        "says something else": (says(b"\xff" * 20), silence),
        "goes within an answer": (says(ANSWERED[:-1]),),
    }.items(),
    ids=lambda case: case[0],
)
def test_after_a_request_was_sent_it_is_not_known_what_became_of_it(
    path: Path, connected: Connect, deeds: tuple[str, tuple[Deed, ...]]
):
    """A save is then sent again under its mark, a delete is not."""
    begin: tuple[Deed, ...] = (lets_in,) if leaves_unread in deeds[1] else (lets_in, hears(ASKED))
    with misbehaving(path, *begin, *deeds[1]) as where:
        found = loss(connected(where))
    assert (found.sent, found.denied) == (True, False)


def test_a_request_of_which_only_a_part_was_sent_was_not_seen(path: Path, connected: Connect):
    """Nobody can begin with half a request, so it may be sent again whatever it is."""
    with misbehaving(path, lets_in, takes(1_000)) as where:
        assert not loss(connected(where), LARGE).sent


def test_a_daemon_that_does_not_read_a_large_request_is_silent_at_the_deadline(
    path: Path, connected: Connect
):
    """To wait for room must not take longer than to wait for the answer may."""
    with misbehaving(path, lets_in, silence) as where, pytest.raises(Silent):
        asked(connected(where), LARGE, A_MOMENT)


@pytest.mark.parametrize(
    "deeds",
    {
        "with the answer": (hears(ASKED), says(ANSWERED)),
        "with the request unread": (leaves_unread, says(ANSWERED)),
        "with nonsense behind it": (hears(ASKED), says(ANSWERED + b"\xff" * 20), silence),
        "with a question behind": (
            hears(ASKED),
            stops_its_ears,
            says(QUESTION + ANSWERED),
        ),
    }.items(),
    ids=lambda case: case[0],
)
def test_an_answer_that_came_before_the_end_counts(
    path: Path, connected: Connect, deeds: tuple[str, tuple[Deed, ...]]
):
    """The daemon answers `stop`, and is gone."""
    with misbehaving(path, lets_in, *deeds[1]) as where:
        assert asked(connected(where)) == "done"


def test_an_answer_may_come_a_byte_at_a_time(path: Path, connected: Connect):
    """Each byte wakes the client, none may be lost."""

    def slowly(raw: socket.socket) -> None:
        for byte in ANSWERED:
            raw.sendall(bytes((byte,)))

    with misbehaving(path, lets_in, hears(ASKED), slowly) as where:
        assert asked(connected(where)) == "done"


def test_a_ping_is_answered_while_an_answer_is_waited_for(path: Path, connected: Connect):
    """A peer with a heartbeat would hang up on whoever waits for a long verify."""
    due = zmtp.command(b"PONG", b"there?")

    def ping(raw: socket.socket) -> None:
        raw.sendall(zmtp.command(b"PING", b"\x00\x64there?"))
        assert raw.recv(len(due), socket.MSG_WAITALL) == due

    with misbehaving(path, lets_in, hears(ASKED), ping, says(ANSWERED)) as where:
        assert asked(connected(where)) == "done"


def test_who_talks_all_the_time_without_answering_is_silent_at_the_deadline(path: Path, connected: Connect):
    """There is always something to read, and never the answer."""

    def for_ever(raw: socket.socket) -> None:
        while True:
            raw.sendall(zmtp.frame(b"") * 100_000)  # which takes longer to read than to send

    with misbehaving(path, lets_in, hears(ASKED), for_ever) as where:
        connection = connected(where)
        with pytest.raises(Silent):
            asked(connection, seconds=A_MOMENT)
        connection.close()


def test_a_signal_does_not_end_the_waiting(path: Path, connected: Connect):
    """A window that changes its size, or a child that ends, interrupts every call to the system."""
    was_handled = threading.Event()

    def interrupt(_: socket.socket) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        assert was_handled.wait(LONG)

    before = signal.signal(signal.SIGUSR1, lambda *_: was_handled.set())
    try:
        with misbehaving(path, lets_in, hears(ASKED), interrupt, says(ANSWERED)) as where:
            assert asked(connected(where)) == "done"
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_ctrl_c_ends_the_waiting_at_once(path: Path, connected: Connect):
    """And the connection can be closed as if nothing had been asked."""

    def interrupt(_: socket.socket) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with misbehaving(path, lets_in, hears(ASKED), interrupt, silence) as where:
        connection = connected(where)
        with pytest.raises(KeyboardInterrupt):
            asked(connection)
        connection.close()
