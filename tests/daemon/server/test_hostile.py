"""Whatever arrives at the sockets: an error or a dropped connection, never a crash, never silence."""

import contextlib
import json
import random
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
import zmq

from backtrail import protocol
from support.outside import Outside, outside, short_home
from support.vitals import has_loaded_all
from support.watching import eventually

MEGABYTE = 1024 * 1024


@pytest.fixture(scope="module")
def daemon() -> Iterator[Outside]:
    with short_home() as home, outside(home) as found:
        yield found


@pytest.fixture(autouse=True)
def unharmed(daemon: Outside) -> Iterator[None]:
    """After each of these tests the daemon works, and has not grown."""
    with daemon.wire() as wire:
        for _ in range(50):
            wire.result("workspaces")
    eventually(lambda: has_loaded_all(daemon.pid))
    eventually(lambda: daemon.descriptors() < 60)
    descriptors, memory = daemon.descriptors(), daemon.memory()
    yield
    with daemon.wire() as wire:
        assert wire.result("ping")["pid"] == daemon.pid
    eventually(lambda: daemon.descriptors() <= descriptors, why=f"{daemon.descriptors()} > {descriptors}")
    grown = daemon.memory() - memory
    assert grown < 10 * MEGABYTE, f"grown by {grown:,} bytes"
    assert "Traceback" not in daemon.process.said()


def code(answer: dict) -> int:
    return answer["error"]["code"]


@pytest.mark.parametrize(
    ("frames", "wanted"),
    [
        ([b""], protocol.PARSE_ERROR),
        ([b"", b""], protocol.PARSE_ERROR),
        ([b"\x00\xff" * 1000], protocol.PARSE_ERROR),
        ([b'{"a":' * 100_000], protocol.PARSE_ERROR),
        ([b"[" * 100_000 + b"]" * 100_000], protocol.INVALID_REQUEST),
        ([b"", b"", b"{}"], protocol.INVALID_REQUEST),
        ([b"{}", b"{}"], protocol.INVALID_REQUEST),
        ([b"x"] * 10_000, protocol.INVALID_REQUEST),
        ([b""] * 10_000, protocol.INVALID_REQUEST),
        ([b"[" + b"1," * 1000 + b"1]"], protocol.INVALID_REQUEST),
        ([b" " * (protocol.MAX_REQUEST_BYTES + 1)], protocol.INVALID_REQUEST),
    ],
)
def test_a_message_that_is_no_request_is_answered(daemon: Outside, frames: list[bytes], wanted: int):
    """Whoever writes a client makes such mistakes; a silent daemon would be of no help."""
    with daemon.wire() as wire:
        answer = wire.raw(*frames)
        assert (code(answer), answer["id"]) == (wanted, None)
        assert wire.result("ping")


def test_parameters_nested_a_hundred_thousand_deep_are_refused(daemon: Outside):
    """They would exhaust the stack of whoever reads them without care."""
    deep = b'{"jsonrpc":"2.0","id":1,"method":"save","params":{"workspace":"w","metadata":{"x":%s}}}'
    with daemon.wire() as wire:
        for inner in (b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000):
            assert code(wire.raw(deep % inner)) in (protocol.PARSE_ERROR, protocol.INVALID_PARAMS)


def test_a_huge_frame_costs_the_connection_and_nothing_else(daemon: Outside):
    """ZeroMQ drops whoever announces more than is ever allowed, before it takes memory for it."""
    with daemon.wire() as wire, daemon.wire() as other:
        events = wire.socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        wire.socket.send(b"x" * (protocol.MAX_FRAME_BYTES + 1))
        assert events.poll(20_000), "the connection was not dropped"
        assert other.result("ping")
        wire.socket.disable_monitor()


def test_bytes_of_another_protocol_are_dropped(daemon: Outside):
    """A browser, a scanner, a mistyped port."""
    seed = random.randrange(2**32)
    print("seed", seed)
    noise = random.Random(seed)
    path = daemon.requests.removeprefix("ipc://")
    for greeting in (
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b'{"jsonrpc":"2.0","id":1,"method":"stop"}\n',
        b"\x01\x00\x02\x00" + b'{"jsonrpc":"2.0","id":1,"method":"stop"}',  # the oldest version of ZeroMQ's
        b"\xff\x00\x00\x00\x00\x00\x00\x00\x01\x7f\x03\x00NULL",
        *(noise.randbytes(noise.randrange(1, 5000)) for _ in range(40)),
    ):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(20)
            raw.connect(path)
            try:
                raw.sendall(greeting)
                raw.shutdown(socket.SHUT_WR)
                while raw.recv(4096):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                pass


def test_connections_that_never_say_anything_are_given_up(daemon: Outside):
    """A client that hangs in the middle of connecting must not use up descriptors."""
    before = daemon.descriptors()
    waiting = []
    for path in (daemon.requests, daemon.events):
        for greeting in (b"", b"\xff", b"\xff\0\0\0\0\0\0\0\1\x7f\3"):
            for _ in range(10):
                raw = socket.socket(socket.AF_UNIX)
                raw.connect(path.removeprefix("ipc://"))
                raw.sendall(greeting)
                waiting.append(raw)
    eventually(lambda: daemon.descriptors() >= before + 50)
    eventually(lambda: daemon.descriptors() <= before, 30)
    for raw in waiting:
        raw.close()


def test_numbers_and_names_out_of_range_are_refused(daemon: Outside, tmp_path: Path):
    """A program that counts wrong must learn it."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_text("content")
    with daemon.wire() as wire:
        name = wire.result("watch", path=str(tmp_path / "work"))["workspace"]
        for method, params in [
            ("list", {"limit": -1}),
            ("list", {"limit": 10**30}),
            ("list", {"cursor": -(10**30)}),
            ("list", {"path": "a\0b"}),
            ("list", {"since": "9" * 10_000}),
            ("read", {"checkpoint": "@:a", "offset": -1}),
            ("read", {"checkpoint": "@:a", "length": -1}),
            ("read", {"checkpoint": "@:a", "offset": 10**30}),
            ("read", {"checkpoint": "@", "path": "../a"}),
            ("read", {"checkpoint": "@:a\0"}),
            ("events", {"since": -1}),
            ("events", {"since": 10**30}),
            ("events", {"since": 0, "limit": 0}),
            ("save", {"turn": 10**30}),
            ("restore", {"checkpoint": "@", "paths": ["/etc"]}),
            ("restore", {"checkpoint": "@", "paths": ["a\0"]}),
        ]:
            error = wire.error(method, **{"workspace": name, **params})
            assert error["data"]["code"] == "usage", (method, params, error)
        assert wire.result("list", workspace=name, limit=2**62)["checkpoints"]
        assert wire.result("read", workspace=name, checkpoint="@:a", offset=2**62)["size"] == 7
        assert wire.result("events", since=2**62)["events"] == []
        for path in ("a\0b", "", "relative", "~", "/" + "x" * 5000, "/x" * 5000):
            assert wire.error("watch", path=path)["data"]["code"] in ("usage", "refused-workspace"), path
        wire.result("unwatch", workspace=name, purge=True)


def test_text_that_is_no_text_is_refused(daemon: Outside):
    """Half of a character can't be stored, shown or compared."""
    template = b'{"jsonrpc":"2.0","id":1,"method":"get","params":{"workspace":"%s","checkpoint":"1"}}'
    with daemon.wire() as wire:
        for broken in (b"\xff", b"\\ud800", b"\\udfff\\ud800", b"\xed\xa0\x80", b"\\u12", b"\x01"):
            assert code(wire.raw(template % broken)) in (protocol.PARSE_ERROR, protocol.INVALID_PARAMS)


def test_many_who_connect_ask_and_vanish_leave_nothing(daemon: Outside):
    """Commands that are interrupted with Ctrl-C, all day long."""
    for _ in range(100):
        with daemon.wire() as wire:
            for _ in range(10):
                wire.send("workspaces")


def test_a_peer_that_comes_back_under_the_name_it_chose_is_served(daemon: Outside):
    """Its old connection may not be known to be dead yet."""
    with daemon.wire(identity=b"chosen") as old:
        assert old.result("ping")
        with daemon.wire(identity=b"chosen") as new:
            assert new.result("ping")
            assert new.result("workspaces")


def test_large_requests_leave_no_memory_behind(daemon: Outside):
    """Allowed once, allowed a hundred times."""
    payload = json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "get",
            "params": {"workspace": "x" * 7_000_000, "checkpoint": "1"},
        }
    ).encode()
    with daemon.wire() as wire:
        for _ in range(20):
            answer = wire.raw(payload)
            assert answer["error"]["data"]["code"] == "unknown-workspace"
            assert len(json.dumps(answer)) < 10_000


def introduced(endpoint: str, kind: bytes) -> socket.socket:
    """A peer that has said who it is, as ZeroMQ's protocol wants it, and now says anything."""
    raw = socket.socket(socket.AF_UNIX)
    raw.settimeout(20)
    raw.connect(endpoint.removeprefix("ipc://"))
    raw.sendall(b"\xff" + bytes(8) + b"\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
    ready = b"\x05READY\x0bSocket-Type" + len(kind).to_bytes(4, "big") + kind
    raw.sendall(b"\x04" + bytes([len(ready)]) + ready)
    assert raw.recv(64)
    return raw


def test_a_peer_that_breaks_off_or_breaks_the_rules_is_dropped(daemon: Outside):
    """Half a message, a command that does not exist, a length that never comes, on both sockets."""
    seed = random.randrange(2**32)
    print("seed", seed)
    noise = random.Random(seed)
    large = protocol.MAX_FRAME_BYTES
    for endpoint, kind in ((daemon.requests, b"DEALER"), (daemon.events, b"SUB"), (daemon.events, b"XSUB")):
        for sent in (
            b"\x00\xff{half",
            b"\x01\x01a\x01\x01b",  # more parts are announced
            b"\x02" + (large - 1).to_bytes(8, "big") + b"the rest never comes",
            b"\x02" + (2**62).to_bytes(8, "big"),
            b"\x02" + (2**64 - 1).to_bytes(8, "big"),
            b"\x04\x05\x04NOPE",
            b"\x00\x02\x01a\x00\x02\x00a\x00\x02\x00a\x00\x01\x01\x00\x00\x00\x03\x07ab",
            *(noise.randbytes(noise.randrange(1, 300)) for _ in range(20)),
        ):
            with (
                contextlib.suppress(BrokenPipeError, ConnectionResetError),
                introduced(endpoint, kind) as raw,
            ):
                raw.sendall(sent)
                raw.shutdown(socket.SHUT_WR)
                while raw.recv(4096):
                    pass
