"""Another user of the machine, by name and number: what he can reach, read, take the place of, or pretend to be."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail import Client
from backtrail.errors import BacktrailError, UntrustedDaemon
from backtrail.protocol import VERSION
from support.clients import home_in
from support.outside import Outside, outside, short_home
from support.process import Process

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

STRANGER = 65534
_TRY_ALL = """
import json, os, socket, sys
top, user = sys.argv[1], int(sys.argv[2])
os.setgroups([]); os.setgid(user); os.setuid(user)
reached = []
for line in sys.stdin.read().split("\\0"):
    for name, flags in (("read", os.O_RDONLY), ("written", os.O_WRONLY)):
        try:
            os.close(os.open(line, flags | os.O_NONBLOCK))
            reached.append(f"{line} can be {name}")
        except OSError:
            pass
    if line.endswith(".sock"):
        try:
            socket.socket(socket.AF_UNIX).connect(line)
            reached.append(f"{line} can be connected to")
        except OSError:
            pass
print(json.dumps(reached))
"""


def reached_by(user: int, top: Path, paths: list[Path]) -> list[str]:
    """What a user can open of these."""
    done = subprocess.run(
        [sys.executable, "-c", _TRY_ALL, str(top), str(user)],
        input="\0".join(map(str, paths)),
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
        timeout=60,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def daemon() -> Iterator[Outside]:
    with short_home() as home, outside(home) as found:
        yield found


def test_nothing_of_the_daemon_can_be_opened_by_another_user(daemon: Outside, tmp_path: Path):
    """Stores, logs, keys, sockets: each by its own mode, though somebody opened the folders around them."""
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a").write_text("private")
    with daemon.wire() as wire:
        wire.result("watch", path=str(tmp_path / "work"))
    daemon.home.parent.chmod(0o755)
    paths = [Path(top, name) for top, folders, names in os.walk(daemon.home) for name in names + folders]
    assert {"daemon.json", "daemon.log", "requests.sock", "state.db", "events.db", "repo.git"} <= {
        path.name for path in paths
    }
    assert reached_by(STRANGER, daemon.home, [daemon.home, *paths]) == []
    # And once more where the closed folders do not protect what is in them.
    for folder in (daemon.home, *(path for path in paths if path.is_dir())):
        folder.chmod(0o755)
    files = [path for path in paths if not path.is_dir()]
    assert reached_by(STRANGER, daemon.home, files) == []
    assert len(reached_by(0, daemon.home, files)) > len(files)


def test_a_home_that_somebody_else_made_first_is_refused():
    """In /tmp anybody may be quicker; he would own the folder with copies of all files."""
    with short_home() as home:
        home.mkdir()
        os.chown(home, STRANGER, STRANGER)
        with Process(home) as process:
            assert process.status() == 1
        assert f"belongs to the user with the number {STRANGER}" in process.said()
        assert "Traceback" not in process.said()
        assert not list(home.rglob("*.sock"))


def test_a_connection_file_that_somebody_else_wrote_is_never_followed(tmp_path: Path):
    """What a client sends, names and contents of files, would go to a socket of his."""
    with home_in(tmp_path) as home, socket.socket(socket.AF_UNIX) as trap:
        home.places.make()
        trap.bind(str(tmp_path / "trap.sock"))
        trap.listen()
        trap.setblocking(False)
        endpoint = f"ipc://{tmp_path}/trap.sock"
        forged = {
            "protocol": VERSION,
            "version": "0",
            "pid": 1,
            "epoch": "",
            "requests": endpoint,
            "events": endpoint,
        }
        home.places.connection_file.write_text(json.dumps(forged))
        os.chown(home.places.connection_file, STRANGER, STRANGER)
        with (
            pytest.raises(UntrustedDaemon, match="belongs to the user"),
            Client(home=home, autostart=False) as client,
        ):
            client.ping()
        with pytest.raises(BlockingIOError):
            trap.accept()


def test_a_socket_that_somebody_else_bound_where_a_daemon_was_is_never_used(tmp_path: Path):
    """A killed daemon leaves its connection file; the file is ours, and the socket is not."""
    with home_in(tmp_path) as home, socket.socket(socket.AF_UNIX) as trap:
        home.places.make()
        squatted = tmp_path / "backtrail-x"
        squatted.mkdir(mode=0o755)
        trap.bind(str(squatted / "requests.sock"))
        trap.listen()
        trap.setblocking(False)
        for path in (squatted, squatted / "requests.sock"):
            os.chown(path, STRANGER, STRANGER)
        endpoint = f"ipc://{squatted}/requests.sock"
        stale = {
            "protocol": VERSION,
            "version": "0",
            "pid": 1,
            "epoch": "",
            "requests": endpoint,
            "events": endpoint,
        }
        home.places.connection_file.write_text(json.dumps(stale))
        home.places.connection_file.chmod(0o600)
        with pytest.raises(BacktrailError, match="No daemon"), Client(home=home, autostart=False) as client:
            client.ping()
        with pytest.raises(BlockingIOError):
            trap.accept()
