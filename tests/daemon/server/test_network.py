"""The daemon over tcp: with keys for those who hold one, without only where nobody else can listen."""

import json
import socket
from pathlib import Path

import pytest
import zmq

from backtrail import keys, protocol
from backtrail.errors import BacktrailError, UsageError
from support.answering import answering
from support.live import places_in
from support.wire import Subscription, Wire

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.fixture(autouse=True)
def _lively(monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat tells that a subscription has arrived; it need not take seconds."""
    monkeypatch.setattr(protocol, "HEARTBEAT_SECONDS", 0.05)


def free_port() -> int:
    """A port that is free, and the next one, too."""
    while True:
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port


def has_ipv6() -> bool:
    """Can anything be bound to its loopback address?"""
    try:
        with socket.socket(socket.AF_INET6) as tried:
            tried.bind(("::1", 0))
    except OSError:
        return False
    return True


def table(address: str, more: str = "") -> str:
    return f'[server]\nlisten = "{address}"\n{more}'


def invited(folder: Path, name: str, address: str) -> dict[str, str]:
    """What a new client gets."""
    places = places_in(folder)
    places.config_file.parent.mkdir(parents=True, exist_ok=True)
    places.config_file.write_text(table(address))
    (folder / "desk").mkdir(exist_ok=True)
    invitation = keys.invite(places, name, output=folder / "desk")
    return json.loads(invitation.file.read_bytes())


def curve(connection: dict[str, str]) -> dict[str, bytes]:
    """Options of a socket."""
    return {
        "curve_serverkey": connection["server_key"].encode(),
        "curve_publickey": connection["public_key"].encode(),
        "curve_secretkey": connection["secret_key"].encode(),
    }


def is_denied(endpoint: str, **options: bytes) -> bool:
    """Is a peer with these keys turned away? Fails if nothing happens at all."""
    with Wire(endpoint, **options) as wire:
        kinds = zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL | zmq.EVENT_DISCONNECTED
        failed = wire.socket.get_monitor_socket(kinds | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)
        wire.socket.send(PING)
        poller = zmq.Poller()
        poller.register(wire.socket, zmq.POLLIN)
        poller.register(failed, zmq.POLLIN)
        ready = dict(poller.poll(20_000))
        wire.socket.disable_monitor()
        assert ready, "silence"
        return wire.socket not in ready


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
def test_a_client_with_its_key_is_served_and_hears_events(tmp_path: Path, host: str):
    """The workstation is in the cellar, the laptop on the sofa."""
    if ":" in host and not has_ipv6():
        pytest.skip("this machine has no IPv6")
    address = f"{host}:{free_port()}"
    connection = invited(tmp_path, "laptop", address)
    with (
        answering(tmp_path, table(address)) as server,
        Wire(connection["requests"], ipv6=True, **curve(connection)) as wire,
        Subscription(connection["events"], ipv6=True, **curve(connection)) as events,
        server.wire() as local,
    ):
        assert events.next_of("heartbeat")["epoch"] == wire.result("ping")["epoch"]
        watched = wire.result("watch", path=str(server.folder_with(a="content")))
        assert events.next_of("initialized")["workspace"] == watched["workspace"]
        assert local.result("status", workspace=watched["workspace"])["files"] == 1


def test_a_client_that_is_not_known_is_denied_and_one_that_was_until_its_file_is_gone(tmp_path: Path):
    """A laptop is stolen: deleting one file keeps it out."""
    address = f"127.0.0.1:{free_port()}"
    connection = invited(tmp_path, "laptop", address)
    public, secret = zmq.curve_keypair()
    with answering(tmp_path, table(address)):
        for endpoint in (connection["requests"], connection["events"]):
            stranger = {**curve(connection), "curve_publickey": public, "curve_secretkey": secret}
            assert is_denied(endpoint, **stranger)
            assert is_denied(endpoint)  # no key at all
        assert not is_denied(connection["requests"], **curve(connection))
        (places_in(tmp_path).keys / "clients" / "laptop.pub").unlink()
        assert is_denied(connection["requests"], **curve(connection))


def test_without_keys_everybody_on_this_machine_is_served_if_the_owner_says_so(tmp_path: Path):
    """In a container there is nobody else."""
    port = free_port()
    with (
        answering(tmp_path, table(f"127.0.0.1:{port}", "curve = false\n")),
        Wire(f"tcp://127.0.0.1:{port}") as wire,
        Subscription(f"tcp://127.0.0.1:{port + 1}") as events,
    ):
        assert wire.result("ping")
        assert events.next_of("heartbeat")


@pytest.mark.parametrize(
    ("listening", "said"),
    [
        (table("0.0.0.0:7780", "curve = false\n"), "everybody who reaches this address"),
        (table("192.0.2.1:7780", "curve = false\n"), "everybody who reaches this address"),
        (table("127.0.0.1:7780"), "no keys"),
        (table("localhost:7780"), "not an address and a port"),
        (table("127.0.0.1:65535"), "not an address and a port"),
        (table("127.0.0.1"), "not an address and a port"),
        (table("127.0.0.1:7780", "curves = false\n"), "curves"),
        ("[server]\ncurve = true\n", "listen"),
    ],
)
def test_what_would_be_dangerous_or_useless_is_refused_in_a_sentence(
    tmp_path: Path, listening: str, said: str
):
    """Better no daemon than one that gives away all files."""
    with pytest.raises(BacktrailError) as refused, answering(tmp_path, listening):
        pass
    assert said in refused.value.message


def test_a_port_that_is_taken_is_named(tmp_path: Path):
    """The sentence says which."""
    port = free_port()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", port))
        taken.listen()
        with (
            pytest.raises(BacktrailError, match=f"127.0.0.1:{port}: Address already in use"),
            answering(tmp_path, table(f"127.0.0.1:{port}", "curve = false\n")),
        ):
            pass
    assert not (places_in(tmp_path).runtime / "requests.sock").exists()


def test_a_network_without_an_address_makes_no_keys(tmp_path: Path):
    """The client's file must say where the daemon is."""
    with pytest.raises(UsageError, match="at which address"):
        keys.invite(places_in(tmp_path), "laptop", output=tmp_path)
