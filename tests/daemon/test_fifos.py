"""A FIFO where the daemon expects a file of its own: whoever opens it as a file waits for a writer for ever."""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import zmq
from zmq.utils import z85

from backtrail import keys
from backtrail.errors import BacktrailError, UsageError
from backtrail.paths import Places
from backtraild.model import Intent
from backtraild.server import discovery
from support.serving import Desk, Site, desk

SECONDS = 20.0

OF_DAEMON: dict[str, Callable[[Desk], Path]] = {
    "configuration": lambda at: at.places.config_file,
    "list of folders": lambda at: at.places.registry,
    "log of events": lambda at: at.places.event_log,
    "its journal": lambda at: Path(f"{at.places.event_log}-journal"),
    "its numbers": lambda at: Path(f"{at.places.event_log}.reserved"),
}
OF_STORE = (
    "format",
    "state.db",
    "state.db-journal",
    "workspace.json",
    "restore.journal",
    "repo.git/spare/0",
    "repo.git/packed-refs",
    "repo.git/refs/checkpoints/1",
    "repo.git/objects/pack/pack-" + "0" * 40 + ".idx",
)


@pytest.fixture
def site(tmp_path: Path):
    with desk(tmp_path, auto_checkpoint=False) as at:
        found = at.watch()
        found.write("kept", "first")
        at.service.save(found.id, Intent(message="first"))
        yield found


def put_fifo(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)


def in_time(call: Callable[[], object], fifo: Path) -> object:
    """What a call gives or raises; one that waits at the FIFO is let go, and fails the test."""
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(call)
        try:
            return answer.exception(SECONDS) or answer.result()
        except TimeoutError:
            os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK))
            pytest.fail(f"waits for somebody to write into {fifo.name}")


def started(at: Desk) -> Callable[[], object]:
    """A start as after the machine was; what is wrong with it is said, and nothing else."""

    def start() -> object:
        at.start()
        return at.service.wait_until_caught_up(SECONDS / 2)

    at.service.stop()
    return start


@pytest.mark.parametrize("what", OF_DAEMON)
def test_a_fifo_among_the_daemons_files_does_not_keep_it_from_starting_or_saying_why(site: Site, what: str):
    """A start that hangs says nothing to anybody, and the next one hangs, too."""
    fifo = OF_DAEMON[what](site.desk)
    start = started(site.desk)
    put_fifo(fifo)
    found = in_time(start, fifo)
    assert found is True or isinstance(found, BacktrailError), found


@pytest.mark.parametrize("name", OF_STORE)
def test_a_fifo_in_a_store_keeps_no_worker_waiting(site: Site, name: str):
    """The worker would never answer again; what is wrong is told in its place, or made anew."""
    fifo = site.store / name
    start = started(site.desk)
    put_fifo(fifo)
    in_time(start, fifo)
    site.write("kept", "second")
    saved = in_time(lambda: site.desk.service.save(site.id, Intent(message="second")), fifo)
    assert not isinstance(saved, Exception) or isinstance(saved, BacktrailError), saved


def test_a_fifo_in_the_place_of_the_connection_file_is_taken_away(tmp_path: Path):
    """It is read at the start, for the sockets that a killed daemon left."""
    put_fifo(tmp_path / "daemon.json")
    assert in_time(lambda: discovery.clean_up(tmp_path / "daemon.json"), tmp_path / "daemon.json") is None
    assert not os.path.lexists(tmp_path / "daemon.json")


def test_a_fifo_in_the_place_of_the_daemons_keys_is_told(tmp_path: Path):
    """They are read at the start, when the daemon is to listen on the network."""
    put_fifo(tmp_path / "server.json")
    (tmp_path / "server.json").chmod(0o600)
    assert isinstance(
        in_time(lambda: keys.server_pair(tmp_path), tmp_path / "server.json"), keys.KeysUnusable
    )


def test_a_fifo_among_the_keys_of_clients_keeps_nobody_out(tmp_path: Path):
    """They are read whenever one comes, by the thread that answers everybody."""
    public, _ = zmq.curve_keypair()
    fifo = tmp_path / "clients" / "a.pub"
    put_fifo(fifo)
    (tmp_path / "clients" / "b.pub").write_bytes(public + b"\n")
    assert in_time(lambda: keys.is_let_in(tmp_path, z85.decode(public)), fifo) is True


def test_an_invitation_does_not_wait_for_a_configuration_that_is_a_fifo(tmp_path: Path):
    """It says that no address is known, as where there is no such file."""
    places = Places(tmp_path, tmp_path, tmp_path)
    put_fifo(places.config_file)
    assert isinstance(in_time(lambda: keys.invite(places, "laptop"), places.config_file), UsageError)
