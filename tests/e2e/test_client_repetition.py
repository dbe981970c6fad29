"""A daemon that dies with a request in its hands: what is asked is done once, and the caller gets an answer."""

import random
import threading
import time

import pytest

from backtrail import CheckpointConfig, Client, DaemonUnreachable
from support.clients import home_in

ROUNDS = 6


@pytest.fixture
def home(tmp_path):
    """No daemon outlives the test."""
    with home_in(tmp_path) as found:
        yield found


def test_a_save_under_way_when_the_daemon_is_killed_gives_exactly_one_checkpoint(home, tmp_path):
    """An agent must neither lose its checkpoint nor find it twice because the daemon fell over."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    root = tmp_path / "work"
    root.mkdir()
    with Client(home=home) as client:
        ws = client.watch(root, CheckpointConfig(auto_checkpoint=False))
        for turn in range(ROUNDS):
            (root / "a.txt").write_bytes(chance.randbytes(200_000))
            moment = chance.uniform(0, 0.02)
            killer = threading.Thread(target=_kill_after, args=(home, moment))
            killer.start()
            saved = ws.save(f"turn {turn}")
            killer.join()
            assert saved.message == f"turn {turn}"
            assert ws.get(saved.number).id == saved.id
        assert [each.message for each in reversed(ws.list())] == [
            "Baseline",
            *(f"turn {turn}" for turn in range(ROUNDS)),
        ]


def test_a_restore_under_way_when_the_daemon_is_killed_is_done_once(home, tmp_path):
    """A second restore would make the first one's safety checkpoint that of the wrong state."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("before")
    with Client(home=home) as client:
        ws = client.watch(root, CheckpointConfig(auto_checkpoint=False))
        for _ in range(3):
            (root / "a.txt").write_text("after")
            killer = threading.Thread(target=_kill_after, args=(home, chance.uniform(0, 0.03)))
            killer.start()
            ws.restore(1)
            killer.join()
            assert (root / "a.txt").read_text() == "before"
            ws.undo()
            assert (root / "a.txt").read_text() == "after"


def test_without_autostart_the_error_says_that_it_is_not_known(home, tmp_path, monkeypatch):
    """The caller has to look, so it must be told."""
    monkeypatch.setattr("backtrail.client.RETURN_SECONDS", 0.2)
    root = tmp_path / "work"
    root.mkdir()
    with Client(home=home) as starter:
        workspace = starter.watch(root).id
    with Client(home=home, autostart=False) as client:
        ws = client.workspace(workspace)
        killer = threading.Thread(target=_kill_after, args=(home, 0.1))
        with home.frozen():  # it gets the request, and never comes to answer it
            killer.start()
            with pytest.raises(
                DaemonUnreachable, match="not known whether the checkpoint was made"
            ) as failure:
                ws.save("perhaps")
            killer.join()
    assert "backtrail list" in failure.value.hint


def test_a_daemon_that_somebody_else_starts_again_gets_the_request(home, tmp_path):
    """A service manager restarts it; without autostart the client waits for that a little."""
    root = tmp_path / "work"
    root.mkdir()
    with Client(home=home) as starter:
        workspace = starter.watch(root).id
        with Client(home=home, autostart=False) as client:
            ws = client.workspace(workspace)
            killer = threading.Thread(target=_kill_and_start, args=(home, starter))
            killer.start()
            saved = [ws.save(f"{turn}").message for turn in range(40)]
            killer.join()
            assert saved == [str(turn) for turn in range(40)]
            assert [each.message for each in ws.list(limit=40)] == saved[::-1]


def _kill_after(home, seconds):
    time.sleep(seconds)  # the moment is the test's input, nothing is waited for
    home.kill()


def _kill_and_start(home, starter):
    _kill_after(home, 0.05)
    starter.ping()
