"""What can be done to a listening socket of ZeroMQ's by somebody who does not keep to its protocol."""

import contextlib
import itertools
import random
from collections.abc import Callable, Sequence

from backtrail import protocol
from support import zmtp

# Each is given chance and where to connect; it returns how many connections or messages it made.
Attack = Callable[[random.Random, str], int]

_ALLOWED = protocol.MAX_FRAME_BYTES


def noise(source: random.Random, endpoint: str) -> int:
    """A browser, a scanner, a mistyped port."""
    for _ in range(20):
        with zmtp.connected(endpoint) as raw:
            zmtp.said(raw, source.randbytes(source.randrange(1, 5000)))
    return 20


def broken_off_greetings(source: random.Random, endpoint: str) -> int:
    """A peer that dies while it says who it is."""
    whole = zmtp.GREETING + zmtp.ready(b"DEALER")
    for _ in range(50):
        with zmtp.connected(endpoint) as raw:
            zmtp.said(raw, whole[: source.randrange(len(whole))])
    return 50


def strange_greetings(source: random.Random, endpoint: str) -> int:
    """Other mechanisms, other versions, both sides servers, and then noise."""
    for mechanism in zmtp.MECHANISMS:
        version = source.choice((b"\x03\x00", b"\x03\x01", b"\x02\x00", b"\x01\x00", b"\xff\xff"))
        first = zmtp.greeting(mechanism, version=version, as_server=source.choice((b"\0", b"\1")))
        words = source.choice(
            (b"HELLO", b"INITIATE", b"WELCOME", b"READY", b"ERROR", b"PING", b"SUBSCRIBE", b"")
        )
        with zmtp.connected(endpoint) as raw:
            zmtp.said(raw, first, zmtp.command(words, source.randbytes(source.randrange(300))))
    return len(zmtp.MECHANISMS)


def broken_commands(source: random.Random, endpoint: str) -> int:
    """A handshake whose properties have no end, no value, or a length beyond everything."""
    for body in (
        b"\x0bSocket-Type\xff\xff\xff\xff",
        b"\xffSocket-Type",
        b"\x0bSocket-Type\0\0\0\x03REP",
        b"\x08Identity\0\0\x10\0" + bytes(4096),
        source.randbytes(200),
    ):
        with zmtp.connected(endpoint) as raw:
            zmtp.said(raw, zmtp.GREETING, zmtp.command(b"READY", body))
    return 5


def lengths_that_never_come(source: random.Random, endpoint: str) -> int:
    """Gigabytes are announced, and a few bytes are sent."""
    kinds = _kinds(endpoint)
    sizes = (_ALLOWED - 1, _ALLOWED + 1, 2**31, 2**32, 2**62, 2**63, 2**64 - 1, source.randrange(2**64))
    for size in sizes:
        with zmtp.introduced(endpoint, source.choice(kinds)) as raw:
            zmtp.said(raw, zmtp.announced(size), source.randbytes(1000))
    return len(sizes)


def half_open(source: random.Random, endpoint: str) -> int:
    """Many that are slow, all at the same time, and then gone without a word."""
    for words in (b"", b"\xff", zmtp.GREETING[: source.randrange(64)], zmtp.GREETING):
        with zmtp.crowd(endpoint, 100, words):
            pass
    return 400


def connects_and_closes(_: random.Random, endpoint: str) -> int:
    """A probe that asks whether anybody listens, in a loop."""
    for _ in range(2_000):
        with contextlib.suppress(BlockingIOError):
            zmtp.connected(endpoint).close()
    return 2_000


def many_parts(source: random.Random, endpoint: str) -> int:
    """A message of thousands of parts; another one that never ends."""
    for last in (zmtp.frame(b"{}"), b""):
        with zmtp.introduced(endpoint, _kinds(endpoint)[0]) as raw:
            zmtp.said(raw, zmtp.frame(source.randbytes(10), more=True) * 20_000, last)
    return 40_000


def broken_messages(source: random.Random, endpoint: str) -> int:
    """Half a message, commands that do not exist, flags that mean nothing."""
    for words in (
        b"\x00\xff{half",
        b"\x01\x01a\x01\x01b",
        zmtp.command(b"NOPE"),
        zmtp.command(b"PING", source.randbytes(40)),
        zmtp.command(b"SUBSCRIBE", b"x" * 200),
        bytes([source.randrange(8, 256)]) + source.randbytes(300),
        *(source.randbytes(source.randrange(1, 300)) for _ in range(5)),
    ):
        with zmtp.introduced(endpoint, source.choice(_kinds(endpoint))) as raw:
            zmtp.said(raw, words)
    return 11


def odd_subscriptions(source: random.Random, endpoint: str) -> int:
    """Topics of a megabyte, topics nobody subscribed to taken back, the same one again and again."""
    for words in (
        zmtp.frame(b"\x01" + b"t" * 1_000_000),
        zmtp.frame(b"\x00never") * 1_000,
        zmtp.frame(b"\x01same") * 10_000,
        zmtp.frame(b"\x01", more=True) * 1_000,
        zmtp.frame(bytes([source.randrange(2, 256)]) + b"topic") * 100,
    ):
        with zmtp.introduced(endpoint, source.choice((b"SUB", b"XSUB"))) as raw:
            zmtp.flooded(raw, [words])
    return 12_101


def very_many_subscriptions(source: random.Random, endpoint: str) -> int:
    """A program that subscribes to every file it knows. They are taken when something is published, some at a time."""
    topics = (zmtp.frame(b"\x01" + source.randbytes(6)) for _ in range(1_000_000))
    with zmtp.introduced(endpoint, b"SUB") as raw:
        zmtp.flooded(
            raw, (b"".join(some) for some in iter(lambda: list(itertools.islice(topics, 1_000)), []))
        )
    return 1_000_000


def subscribed_until(endpoint: str, publish: Callable[[], object], is_enough: Callable[[], bool]) -> int:
    """Subscribe to ever more topics, with something published in between so that they are taken; how many.

    A busy machine may take longer than a handshake may: the daemon hangs up then, and there is another connection.
    """
    source, count = random.Random(0), 0
    while not is_enough():
        with (
            contextlib.suppress(BrokenPipeError, ConnectionResetError),
            zmtp.introduced(endpoint, b"SUB") as raw,
        ):
            while not is_enough():
                raw.sendall(b"".join(zmtp.frame(b"\x01" + source.randbytes(6)) for _ in range(1_000)))
                count += 1_000
                publish()
    return count


def _kinds(endpoint: str) -> Sequence[bytes]:
    return (b"SUB", b"XSUB") if "events" in endpoint else (b"DEALER", b"REQ", b"ROUTER")


ON_ANY: tuple[Attack, ...] = (
    noise,
    broken_off_greetings,
    strange_greetings,
    broken_commands,
    half_open,
    connects_and_closes,
)
ON_REQUESTS: tuple[Attack, ...] = (*ON_ANY, lengths_that_never_come, many_parts, broken_messages)
ON_EVENTS: tuple[Attack, ...] = (*ON_REQUESTS, odd_subscriptions, very_many_subscriptions)


def made(attack: Attack, source: random.Random, endpoint: str) -> int:
    """The attack, however the other side defends itself."""
    try:
        return attack(source, endpoint)
    except (ConnectionError, TimeoutError) as error:
        raise AssertionError(
            f"{attack.__name__} at {endpoint}: nobody listens any more: {error!r}"
        ) from error
