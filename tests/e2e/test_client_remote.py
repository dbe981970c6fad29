"""A daemon on another machine: reached through a connection file, by those who hold a key."""

import asyncio
import socket
import time

import pytest

from backtrail import AsyncClient, CheckpointConfig, Client, DaemonUnreachable
from backtrail.keys import invite
from support.clients import home_in


@pytest.fixture
def home(tmp_path):
    """A daemon that listens on tcp, too."""
    with home_in(tmp_path) as found:
        found.places.make()
        found.places.config_file.write_text(f'[server]\nlisten = "127.0.0.1:{_free_ports()}"\n')
        invite(found.places, "laptop", output=tmp_path)
        with Client(home=found) as client:
            client.ping()
        yield found


def _free_ports():
    """A port that is free, and so is the next."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as first:
            port = first.getsockname()[1]
            try:
                socket.create_server(("127.0.0.1", port + 1)).close()
            except (OSError, OverflowError):
                continue
            return port


def test_the_connection_file_is_all_that_is_needed(home, tmp_path, monkeypatch):
    """Requests, progress and events go over tcp, encrypted; the environment may name the file."""
    monkeypatch.setenv("BACKTRAIL_CONNECTION", str(tmp_path / "laptop.json"))
    (tmp_path / "work").mkdir()
    with Client() as client:
        ws = client.watch(tmp_path / "work", CheckpointConfig(auto_checkpoint=False), on_progress=print)
        with client.events() as events:
            saved = ws.save("from afar")
            assert next(events).checkpoint == saved.number

    async def ask():
        async with AsyncClient(connection=tmp_path / "laptop.json") as other:
            return (await other.ping()).pid

    assert asyncio.run(ask()) == home.pid()


def test_a_key_that_is_not_known_any_more_is_said_to_be_that(home, tmp_path):
    """Not a timeout: somebody took the key away, or it is the wrong file."""
    (home.places.keys / "clients" / "laptop.pub").unlink()
    began = time.monotonic()
    with (
        Client(connection=tmp_path / "laptop.json") as client,
        pytest.raises(DaemonUnreachable, match="does not let this client in"),
    ):
        client.ping()
    assert time.monotonic() - began < 5


def test_a_daemon_that_is_not_there_is_not_started_here(home, tmp_path):
    """It belongs to another machine; the error names the file that says so."""
    home.end()
    with Client(connection=tmp_path / "laptop.json") as client, pytest.raises(DaemonUnreachable) as failure:
        client.ping()
    assert "laptop.json" in failure.value.message
    assert home.pid() is None


def test_a_connection_file_that_is_not_there_is_named(tmp_path):
    """A typing error in its name."""
    with Client(connection=tmp_path / "nothing.json") as client, pytest.raises(DaemonUnreachable) as failure:
        client.ping()
    assert "nothing.json does not exist" in failure.value.message
