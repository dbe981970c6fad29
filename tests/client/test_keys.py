"""Keys on the disk: made once, readable by their owner alone, never overwritten."""

import json
import os
from pathlib import Path

import pytest
import zmq
from zmq.utils import z85

from backtrail import keys
from backtrail.errors import UsageError
from backtrail.keys import KeysUnusable
from backtrail.paths import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    found = Places(tmp_path / "config", tmp_path / "data", tmp_path / "run")
    found.config.mkdir()
    found.config_file.write_text('[server]\nlisten = "192.0.2.7:7780"\n')
    return found


def test_an_invitation_has_all_that_a_client_needs_and_lets_it_in(places: Places, tmp_path: Path):
    """One file is carried to the other machine."""
    invitation = keys.invite(places, "laptop", output=tmp_path)
    assert invitation.file == tmp_path / "laptop.json"
    found = json.loads(invitation.file.read_bytes())
    assert (found["requests"], found["events"]) == ("tcp://192.0.2.7:7780", "tcp://192.0.2.7:7781")
    assert zmq.curve_public(found["secret_key"].encode()).decode() == found["public_key"]
    pair = keys.server_pair(places.keys)
    assert pair is not None
    assert found["server_key"] == pair.public_key
    assert keys.is_let_in(places.keys, z85.decode(found["public_key"]))
    assert not keys.is_let_in(places.keys, z85.decode(pair.public_key))


def test_the_daemons_pair_is_made_once(places: Places, tmp_path: Path):
    """A second client must not lock out the first."""
    first, second = (keys.invite(places, name, output=tmp_path).file for name in ("a", "b"))
    assert json.loads(first.read_bytes())["server_key"] == json.loads(second.read_bytes())["server_key"]
    assert json.loads(first.read_bytes())["public_key"] != json.loads(second.read_bytes())["public_key"]


def test_nobody_else_can_read_a_secret(places: Places, tmp_path: Path):
    """Whatever the umask is."""
    before = os.umask(0)
    try:
        invitation = keys.invite(places, "laptop", output=tmp_path)
    finally:
        os.umask(before)
    for file in (invitation.file, places.keys / "server.json", places.keys / "clients" / "laptop.pub"):
        assert file.stat().st_mode & 0o777 == 0o600, file
    assert (places.keys / "clients").stat().st_mode & 0o777 == 0o700


def test_a_pair_that_others_can_read_is_not_used(places: Places, tmp_path: Path):
    """It may be known to others by now."""
    keys.invite(places, "laptop", output=tmp_path)
    (places.keys / "server.json").chmod(0o644)
    with pytest.raises(KeysUnusable, match="others may read it"):
        keys.server_pair(places.keys)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"public_key": "short", "secret_key": "short"}', b"\xff"])
def test_a_damaged_pair_is_said_to_be_one(places: Places, content: bytes):
    """The daemon would otherwise listen with a key that nobody has."""
    places.keys.mkdir()
    (places.keys / "server.json").touch(0o600)
    (places.keys / "server.json").write_bytes(content)
    with pytest.raises(KeysUnusable, match=r"server\.json"):
        keys.server_pair(places.keys)


@pytest.mark.parametrize("name", ["", "..", "a/b", ".hidden", "a b", "x" * 65, "-x"])
def test_a_name_that_is_no_file_name_is_refused(places: Places, tmp_path: Path, name: str):
    """It becomes one."""
    with pytest.raises(UsageError, match="not a name"):
        keys.invite(places, name, output=tmp_path)


def test_nothing_is_overwritten(places: Places, tmp_path: Path):
    """A key that is gone can't be had back."""
    (tmp_path / "tablet.json").write_text("mine")
    with pytest.raises(UsageError, match="exists already"):
        keys.invite(places, "tablet", output=tmp_path)
    assert (tmp_path / "tablet.json").read_text() == "mine"
    assert not (places.keys / "clients" / "tablet.pub").exists()
    keys.invite(places, "laptop", output=tmp_path)
    (tmp_path / "laptop.json").unlink()
    with pytest.raises(UsageError, match="let in already"):
        keys.invite(places, "laptop", output=tmp_path)


def test_the_host_can_be_named_and_must_be_where_the_daemon_listens_everywhere(
    places: Places, tmp_path: Path
):
    """`0.0.0.0` leads nowhere from another machine."""
    assert keys.invite(places, "a", output=tmp_path, host="cellar").requests == "tcp://cellar:7780"
    places.config_file.write_text('[server]\nlisten = "0.0.0.0:7780"\n')
    assert "//0." not in keys.invite(places, "b", output=tmp_path).requests
