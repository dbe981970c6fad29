"""The first call starts the daemon: once, detached, and with a reason where it can't."""

import os
import socket
import subprocess
import sys
import time

import msgspec
import pytest

from backtrail import Client, DaemonSilent, DaemonUnreachable, ProtocolMismatch, UntrustedDaemon
from backtrail.protocol import PING, VERSION, ConnectionFile, Ping
from support.clients import at_once, home_in
from support.watching import eventually

_PING = "import sys; from backtrail import Client; print(Client(home=sys.argv[1]).ping().pid)"


@pytest.fixture
def home(tmp_path):
    """No daemon outlives the test."""
    with home_in(tmp_path) as found:
        yield found


def _stale(home, requests, protocol=VERSION):
    """A connection file that a killed daemon left."""
    home.places.make()
    where = ConnectionFile(protocol, "0.1.0", 1, "old", requests, requests)
    home.places.connection_file.write_bytes(msgspec.json.encode(where))
    home.places.connection_file.chmod(0o600)


def test_200_clients_at_once_make_one_daemon(home):
    """An editor, an agent and ten shells open at the same moment when a machine starts."""
    processes = [
        subprocess.Popen([sys.executable, "-c", _PING, home], stdout=subprocess.PIPE) for _ in range(4)
    ]

    def ping():
        with Client(home=home) as client:
            return client.ping().pid

    answers = at_once(*[ping] * 196)
    answers += [int(process.communicate(timeout=60)[0]) for process in processes]
    assert set(answers) == {home.pid()}
    assert home.starts() == 1


def test_the_daemon_does_not_get_the_terminals_ctrl_c_and_outlives_its_client(home):
    """Ctrl-C in the shell that happened to start it must not end it for all others."""
    program = f"{_PING}; import os, signal; os.killpg(0, signal.SIGINT)"
    done = subprocess.run(
        [sys.executable, "-c", program, home],
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=60,
    )
    pid = int(done.stdout)
    assert "KeyboardInterrupt" in done.stderr
    assert os.getsid(pid) == pid
    assert os.readlink(f"/proc/{pid}/cwd") == "/"
    with Client(home=home, autostart=False) as client:
        assert client.ping().pid == pid


@pytest.mark.parametrize("off", ["argument", "environment"])
def test_without_autostart_nothing_is_started_and_the_error_says_what_to_do(home, monkeypatch, off):
    """A service manager may be the only one that should start it."""
    if off == "environment":
        monkeypatch.setenv("BACKTRAIL_NO_AUTOSTART", "1")
    began = time.monotonic()
    with (
        Client(home=home, autostart=off == "environment") as client,
        pytest.raises(DaemonUnreachable) as failure,
    ):
        client.ping()
    assert time.monotonic() - began < 1
    assert failure.value.exit_status == 10
    assert "backtrail daemon start" in failure.value.hint
    assert home.pid() is None


def test_a_daemon_that_can_not_start_says_why(home):
    """A typing error in the configuration file, seen by the person who made it and not only in a log."""
    home.places.make()
    home.places.config_file.write_text("quiet = 'soon'\n")
    began = time.monotonic()
    with Client(home=home) as client, pytest.raises(DaemonUnreachable, match=r"config\.toml") as failure:
        client.ping()
    assert "could not be started" in failure.value.message
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("left", ["nothing", "a socket"])
def test_what_a_killed_daemon_left_is_noticed_in_a_moment(home, left):
    """A power cut must not cost a timeout at the next command."""
    home.places.make()
    path = home.places.runtime / "old.sock"
    if left == "a socket":
        with socket.socket(socket.AF_UNIX) as old:
            old.bind(str(path))
    _stale(home, f"ipc://{path}")
    began = time.monotonic()
    with Client(home=home, autostart=False) as client, pytest.raises(DaemonUnreachable):
        client.ping()
    assert time.monotonic() - began < 0.5
    with Client(home=home) as client:
        assert client.ping().pid == home.pid()


def test_a_running_daemon_of_another_version_is_refused_and_a_dead_one_replaced(home):
    """After an upgrade the old daemon still runs; it must not be talked to in the wrong language."""
    _stale(home, "ipc:///nowhere", protocol=VERSION + 1)
    with Client(home=home) as client:
        pid = client.ping().pid
        file = home.places.connection_file
        file.write_bytes(file.read_bytes().replace(b'"protocol": %d' % VERSION, b'"protocol": 99'))
    with Client(home=home) as client, pytest.raises(ProtocolMismatch, match="version 99") as refused:
        client.ping()
    assert str(pid) in refused.value.hint


def test_a_forged_connection_file_is_refused_although_autostart_is_on(home):
    """Replacing it quietly would hide that somebody else could write there."""
    _stale(home, "ipc:///tmp/of-somebody-else.sock")
    home.places.connection_file.chmod(0o666)
    with Client(home=home) as client, pytest.raises(UntrustedDaemon):
        client.ping()
    assert home.pid() is None


def test_a_call_right_after_stop_gets_a_new_daemon(home):
    """`backtrail daemon stop && backtrail save` must not fail because the old one is still writing."""
    with Client(home=home) as client:
        first = client.ping().pid
        home.withdraw(client.stop)
        second = client.ping().pid
    assert second != first
    assert second == home.pid()
    eventually(lambda: home.starts() == 2)  # it answers before it says so in its log


def test_stop_starts_no_daemon_in_order_to_end_it(home):
    """Ending what does not run is an error that says so."""
    with Client(home=home) as client, pytest.raises(DaemonUnreachable, match="No daemon is running"):
        client.stop()
    assert home.pid() is None


def test_any_call_works_again_after_the_daemon_was_killed(home):
    """Also on connections that were open at that moment."""
    with Client(home=home) as client:
        for _ in range(2):
            before = client.ping().pid
            home.kill()
            assert client.workspaces() == []
            assert client.ping().pid == home.pid() != before


def test_a_daemon_that_does_not_answer_is_told_from_one_that_is_not_there(home):
    """It may be busy or stopped; starting another one would not help."""
    with Client(home=home) as client:
        pid = client.ping().pid
        with home.frozen(), pytest.raises(DaemonSilent, match=r"within 0\.3 s") as failure:
            client.call(PING, Ping(), timeout=0.3)
        assert failure.value.exit_status == 10
        assert client.ping().pid == pid


def test_a_forked_child_opens_connections_of_its_own(home):
    """multiprocessing forks while a client is in use; two processes on one socket would mix up answers."""
    with Client(home=home) as client:
        pid = client.ping().pid
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.write(writing, str(client.ping().pid).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with open(reading) as answer:
            assert answer.read() == str(pid)
        os.waitpid(child, 0)
        assert client.ping().pid == pid
