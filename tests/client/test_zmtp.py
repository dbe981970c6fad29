"""ZeroMQ's protocol as the client speaks it: against bytes that were written by hand, cut anywhere, or made to harm."""

import tracemalloc
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtrail.wire import zmtp
from backtrail.wire.zmtp import Decoder, Denied, Frame, Peer, Violation
from support import zmtp as by_hand

MOST = 100_000
INTRODUCED = by_hand.GREETING + by_hand.ready(b"ROUTER")

_frames = st.one_of(
    st.builds(Frame, st.binary(max_size=600), st.just(False), st.booleans()),
    st.builds(Frame, st.binary(max_size=600), st.just(True), st.just(False)),
)


def cut(stream: bytes, places: Iterable[int]) -> Iterator[bytes]:
    """A stream in pieces, as a socket gives them."""
    begin = 0
    for place in [*sorted(place % (len(stream) + 1) for place in places), len(stream)]:
        yield stream[begin:place]
        begin = place


def decoded(pieces: Iterable[bytes]) -> list[Frame]:
    decoder = Decoder(MOST)
    return [frame for piece in pieces for frame in decoder.take(piece)]


def heard(*pieces: bytes) -> list[bytes]:
    peer = Peer(MOST)
    return [message for piece in pieces for message in peer.hear(piece)]


def ready_peer() -> Peer:
    peer = Peer(MOST)
    assert not list(peer.hear(INTRODUCED))
    return peer


def test_we_introduce_ourselves_as_the_protocol_has_it():
    """Every byte of it was written down a second time, by hand."""
    assert by_hand.GREETING + by_hand.ready(b"DEALER") == zmtp.INTRODUCTION
    assert len(zmtp.GREETING) == 64


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_536])
def test_a_message_has_a_short_or_a_long_size(size: int):
    """The daemon reads one byte or eight, and takes the wrong one for something else."""
    assert zmtp.message(b"x" * size) == by_hand.frame(b"x" * size)


@given(st.lists(_frames, max_size=8), st.lists(st.integers(0, 10_000), max_size=12))
def test_what_was_encoded_is_decoded_however_it_is_cut(frames: list[Frame], places: list[int]):
    """A socket gives what it has, be it half of a size."""
    stream = by_hand.GREETING + b"".join(map(zmtp.encode, frames))
    assert decoded(cut(stream, places)) == frames


def test_a_stream_may_be_cut_at_every_place_there_is():
    """Also in the greeting and in the eight bytes of a long size."""
    stream = INTRODUCED + by_hand.frame(b"", more=True) + by_hand.frame(b"y" * 300) + by_hand.frame(b"z")
    for place in range(len(stream) + 1):
        assert heard(stream[:place], stream[place:]) == [b"y" * 300, b"z"], place
    assert heard(*(stream[at : at + 1] for at in range(len(stream)))) == [b"y" * 300, b"z"]


def test_of_a_message_with_several_frames_the_last_counts():
    """A relay may put empty ones before it; none of them is an answer."""
    frames = by_hand.frame(b"way", more=True) + by_hand.frame(b"", more=True) + by_hand.frame(b"answer")
    assert heard(INTRODUCED + frames) == [b"answer"]


@pytest.mark.parametrize("place", range(1, 64))
def test_nothing_is_said_of_a_greeting_that_has_only_begun(place: int):
    """A slow daemon is not a wrong one."""
    peer = Peer(MOST)
    assert not list(peer.hear(by_hand.GREETING[:place]))
    assert not peer.is_ready


@pytest.mark.parametrize(
    "greeting",
    {
        "another protocol": b"H",
        "no second mark": by_hand.GREETING[:9] + b"\x00",
        "version 2": by_hand.greeting(b"NULL", version=b"\x02\x00")[:11],
        "passwords": by_hand.greeting(b"PLAIN"),
        "encryption": by_hand.greeting(b"CURVE"),
        "a longer word": by_hand.greeting(b"NULLIFIED"),
    }.items(),
    ids=lambda case: case[0],
)
def test_who_does_not_speak_our_language_is_known_as_soon_as_it_says_so(greeting: tuple[str, bytes]):
    """Nobody should wait for the other 63 bytes of a web server."""
    with pytest.raises(Violation):
        heard(greeting[1])


def test_a_later_version_that_still_greets_like_this_one_is_understood():
    """3.1 is what ZeroMQ says today."""
    greeting = by_hand.greeting(b"NULL", version=b"\x03\x01")
    assert heard(greeting + by_hand.ready(b"ROUTER") + by_hand.frame(b"x")) == [b"x"]


def test_a_ready_tells_more_than_the_kind_and_capitals_make_no_difference():
    """Names of properties are the same in any case, and ZeroMQ adds some of its own."""
    more = b"\x08Identity\x00\x00\x00\x00" + b"\x0bSOCKET-TYPE\x00\x00\x00\x06ROUTER"
    assert heard(by_hand.GREETING + by_hand.command(b"READY", more) + by_hand.frame(b"x")) == [b"x"]


@pytest.mark.parametrize(
    "words",
    {
        "a message before anything": by_hand.frame(b"{}"),
        "another command": by_hand.command(b"HELLO"),
        "a ping": by_hand.command(b"PING", b"\0\0"),
        "the wrong kind": by_hand.ready(b"PUB"),
        "no kind": by_hand.command(b"READY"),
        "half a name": by_hand.command(b"READY", b"\x0bSocket"),
        "half a size": by_hand.command(b"READY", b"\x0bSocket-Type\x00\x00"),
        "half a value": by_hand.command(b"READY", b"\x0bSocket-Type\x00\x00\x00\x07ROUTER"),
        "half a command": b"\x04\x02\x05R",
        "a command without a name": b"\x04\x00",
    }.items(),
    ids=lambda case: case[0],
)
def test_who_does_not_introduce_itself_is_not_talked_to(words: tuple[str, bytes]):
    """Something that only looks like a daemon must not be sent the names of files."""
    with pytest.raises(Violation):
        heard(by_hand.GREETING + words[1])


@pytest.mark.parametrize("before", [by_hand.GREETING, INTRODUCED], ids=["at the door", "later"])
def test_an_error_is_a_denial(before: bytes):
    """ZeroMQ says it in this way where the daemon does not know the user."""
    with pytest.raises(Denied):
        heard(before + by_hand.command(b"ERROR", b"\x03400"))


def test_a_ping_is_answered_with_what_it_said():
    """A peer that hears nothing takes us for dead, and hangs up on a save that takes long."""
    peer = ready_peer()
    assert list(peer.hear(by_hand.command(b"PING", b"\x00\x0ahere") + by_hand.frame(b"x"))) == [b"x"]
    assert peer.replies() == by_hand.command(b"PONG", b"here")
    assert peer.replies() == b""
    list(peer.hear(by_hand.command(b"PING", b"\x00\x0a" + b"y" * 500)))
    assert peer.replies() == by_hand.command(b"PONG", b"y" * 16)


def test_commands_that_we_do_not_know_are_passed_over():
    """A later version may have more of them."""
    assert heard(INTRODUCED + by_hand.command(b"NEWS", b"123") + by_hand.frame(b"x")) == [b"x"]


@pytest.mark.parametrize("flags", [0x05, 0x07, 0x08, 0x80, 0xFF])
def test_flags_that_mean_nothing_end_it(flags: int):
    """Whatever follows would be read at the wrong place."""
    with pytest.raises(Violation):
        heard(INTRODUCED + bytes((flags, 2)) + b"\x01x")


@pytest.mark.parametrize("words", [b"\x04\x02\x05P", b"\x04\x00"], ids=["half a name", "no name"])
def test_a_command_without_its_name_ends_it(words: bytes):
    """Commands that are not known are passed over, what is none is not."""
    with pytest.raises(Violation):
        heard(INTRODUCED + words)


def test_a_frame_of_the_largest_size_is_taken_and_one_byte_more_is_not():
    """The bound is where it says."""
    assert heard(INTRODUCED + by_hand.frame(b"x" * MOST)) == [b"x" * MOST]
    with pytest.raises(Violation):
        heard(INTRODUCED + by_hand.announced(MOST + 1))


@pytest.mark.parametrize("flags", [b"\x02", b"\x03", b"\x06"])
def test_a_gigantic_frame_is_refused_by_its_size_alone(flags: bytes):
    """Nobody waits for it, and nothing is set aside for it."""
    with pytest.raises(Violation):
        heard(INTRODUCED + flags + b"\xff" * 8)


def test_what_is_announced_takes_no_memory_before_it_comes():
    """Else a few bytes could take as much as the largest answer may have."""
    peer = Peer(2**40)
    list(peer.hear(INTRODUCED))
    tracemalloc.start()
    try:
        assert not list(peer.hear(by_hand.announced(2**39)))
        assert tracemalloc.get_traced_memory()[1] < 10_000
    finally:
        tracemalloc.stop()


@given(
    st.sampled_from([b"", by_hand.GREETING, INTRODUCED]),
    st.binary(max_size=400),
    st.lists(st.integers(0, 500)),
)
def test_whatever_comes_is_understood_or_refused(before: bytes, words: bytes, places: list[int]):
    """No other error may come up in somebody's program, and where it is cut makes no difference."""
    assert _outcome([before + words]) == _outcome(cut(before + words, places))


def _outcome(pieces: Iterable[bytes]) -> tuple[list[bytes], str]:
    peer, messages = Peer(MOST), list[bytes]()
    try:
        for piece in pieces:
            messages.extend(peer.hear(piece))
    except (Violation, Denied) as error:
        return messages, type(error).__name__
    return messages, "understood"
