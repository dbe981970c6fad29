"""Who reaches the daemon on its own machine: its user, and nobody else."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from backtraild.server.doorkeeper import is_same_user
from support.outside import outside, short_home
from support.process import Process

_ASK_AS = """
import os, sys, zmq
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
context = zmq.Context()
asking = context.socket(zmq.DEALER)
failed = asking.get_monitor_socket(zmq.EVENT_HANDSHAKE_FAILED_AUTH | zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL)
asking.connect(sys.argv[1])
asking.send(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
poller = zmq.Poller()
poller.register(asking, zmq.POLLIN)
poller.register(failed, zmq.POLLIN)
ready = dict(poller.poll(20000))
print("answered" if asking in ready else "denied" if failed in ready else "silence")
os._exit(0)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_denied_even_where_the_folder_lets_him_in():
    """The mode of a folder is one mistake away from being wrong."""
    with short_home() as home, outside(home) as daemon:
        for folder in (home.parent, home, home / "run"):
            folder.chmod(0o755)
        for file in (home / "run").glob("*.sock"):
            file.chmod(0o777)
        answers = {
            user: subprocess.run(
                [sys.executable, "-c", _ASK_AS, endpoint, str(user)],
                capture_output=True,
                text=True,
                timeout=60,
                check=True,
                cwd="/",
            ).stdout.strip()
            for user, endpoint in ((65534, daemon.requests), (0, daemon.requests))
        }
        assert answers == {65534: "denied", 0: "answered"}
        assert "was denied" in daemon.process.said()


@pytest.mark.parametrize(
    ("address", "is_welcome"),
    [
        ("localhost:1000:1000:77", True),
        (":1000:1000:77", True),
        ("localhost:1001:1000:77", False),
        ("localhost:0:1000:1000", False),
        ("127.0.0.1", False),
        ("::1000:1000:1000:1", False),
        ("", False),
    ],
)
def test_the_kernel_says_who_a_local_peer_is(address: str, is_welcome: bool):
    """Without its word nobody is let in."""
    assert is_same_user(address, 1000) is is_welcome


def test_only_the_owner_can_reach_the_sockets():
    """Their folder and their files are closed to all others."""
    with short_home() as home, outside(home):
        assert (home / "run").stat().st_mode & 0o777 == 0o700
        for name in ("requests.sock", "events.sock", "daemon.json"):
            assert (home / "run" / name).stat().st_mode & 0o077 == 0, name


def test_a_second_daemon_does_not_take_the_sockets():
    """Binding would take them over from the one that runs: the lock comes first."""
    with short_home() as home, outside(home) as first:
        with Process(home) as second:
            assert second.status() == 1
        with first.wire() as wire:
            assert wire.result("ping")["pid"] == first.pid


def inet_sockets(process: int) -> set[str]:
    """The inodes of a process's sockets that are known to TCP or UDP."""
    own = set()
    for name in os.listdir(f"/proc/{process}/fd"):
        try:
            target = os.readlink(f"/proc/{process}/fd/{name}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            own.add(target[8:-1])
    known = set()
    for table in ("tcp", "tcp6", "udp", "udp6"):
        path = Path(f"/proc/{process}/net/{table}")
        if path.exists():
            known |= {line.split()[9] for line in path.read_text().splitlines()[1:]}
    return own & known


def test_without_a_word_in_the_configuration_there_is_no_port():
    """Nobody wants to find an open port that he did not ask for."""
    with short_home() as home, outside(home) as daemon, daemon.wire() as wire:
        assert wire.result("ping")
        assert inet_sockets(daemon.pid) == set()
