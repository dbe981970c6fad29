"""The connection file: what is refused, what is taken for absent, and who listens."""

import os
import socket

import msgspec
import pytest

from backtrail.errors import ProtocolMismatch, UntrustedDaemon
from backtrail.protocol import VERSION, ConnectionFile
from backtrail.wire.discovery import read_connection
from backtrail.wire.listening import is_listening

_WHERE = ConnectionFile(VERSION, "0.1.0", 4711, "epoch", "ipc:///run/r", "ipc:///run/e")


@pytest.fixture
def file(tmp_path):
    """A connection file as a daemon writes it."""
    path = tmp_path / "daemon.json"
    path.write_bytes(msgspec.json.encode(_WHERE))
    path.chmod(0o600)
    return path


def test_a_file_of_ours_is_read(file):
    """Which is what all others are measured against."""
    assert read_connection(file) == _WHERE


@pytest.mark.parametrize("content", [b"", b'{"protocol": 1', b"[]", b'{"protocol": 1, "pid": 1}'])
def test_a_file_that_is_not_whole_is_as_good_as_none(file, content):
    """A power cut may leave an empty one, and the next daemon replaces it."""
    file.write_bytes(content)
    assert read_connection(file) is None


def test_no_file_is_no_daemon(tmp_path):
    """The usual case before the first start."""
    assert read_connection(tmp_path / "daemon.json") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_is_refused(file, mode):
    """Whoever can write it can make us send our files' names and messages to them."""
    file.chmod(mode)
    with pytest.raises(UntrustedDaemon, match=f"mode 0{mode:o}") as refused:
        read_connection(file)
    assert str(file) in refused.value.message
    assert refused.value.exit_status == 10


def test_a_symlink_is_refused(file, tmp_path):
    """It may point at a file of ours that says what somebody else wants."""
    link = tmp_path / "link.json"
    link.symlink_to(file)
    with pytest.raises(UntrustedDaemon, match="symbolic link"):
        read_connection(link)


def test_something_that_is_no_file_is_refused_at_once(tmp_path):
    """Opening a pipe would wait for a writer for ever."""
    os.mkfifo(tmp_path / "daemon.json", 0o600)
    with pytest.raises(UntrustedDaemon, match="not a file"):
        read_connection(tmp_path / "daemon.json")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_file_of_somebody_else_is_refused(file):
    """Another user's daemon must not be taken for ours."""
    os.chown(file, 12345, -1)
    with pytest.raises(UntrustedDaemon, match="user with the number 12345"):
        read_connection(file)


def test_another_version_of_the_protocol_says_which_side_is_newer_and_what_to_do(file):
    """Even if the rest of its file looks different."""
    file.write_bytes(b'{"protocol": 99, "pid": 4711, "requests": ["elsewhere"]}')
    with pytest.raises(ProtocolMismatch, match="version 99") as refused:
        read_connection(file)
    assert "newer release" in refused.value.hint
    assert "kill 4711" in refused.value.hint


def test_a_socket_that_nobody_listens_on_is_told_from_a_live_one(tmp_path):
    """A killed daemon leaves its socket files behind."""
    path = str(tmp_path / "s")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path)
    listening.listen(0)
    assert is_listening(f"ipc://{path}")
    assert all(is_listening(f"ipc://{path}") for _ in range(5)), "a full queue is a sign of life"
    listening.close()
    assert not is_listening(f"ipc://{path}")
    os.unlink(path)
    assert not is_listening(f"ipc://{path}")


def test_the_same_for_tcp():
    """A daemon on another machine, or with its port closed."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert is_listening(f"tcp://127.0.0.1:{port}")
    assert not is_listening(f"tcp://127.0.0.1:{port}")


def _naming(file, folder):
    where = msgspec.structs.replace(
        _WHERE, requests=f"ipc://{folder}/r.sock", events=f"ipc://{folder}/e.sock"
    )
    file.write_bytes(msgspec.json.encode(where))
    return where


@pytest.fixture
def sockets(tmp_path):
    """A folder in which two sockets are bound."""
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    bound = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    for made, name in zip(bound, ("r.sock", "e.sock"), strict=True):
        made.bind(str(folder / name))
    yield folder
    for made in bound:
        made.close()


def test_sockets_of_ours_are_trusted_also_in_a_folder_that_others_may_enter(file, sockets):
    """The daemon itself asks who connects."""
    where = _naming(file, sockets)
    for mode in (0o700, 0o755, 0o1777):
        sockets.chmod(mode)
        assert read_connection(file) == where


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o707])
def test_sockets_in_a_folder_where_others_may_exchange_them_are_nobody_s(file, sockets, mode):
    """What is sent there could be read by whoever was there first."""
    _naming(file, sockets)
    sockets.chmod(mode)
    assert read_connection(file) is None


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("name", [".", "r.sock", "e.sock"])
def test_a_dead_daemon_s_short_folder_that_somebody_else_made_again_is_nobody_s(file, sockets, name):
    """Temporary folders are cleaned up, the connection file is not; the folder's name is then free for anybody."""
    _naming(file, sockets)
    os.chown(sockets / name, 12345, -1)
    assert read_connection(file) is None
