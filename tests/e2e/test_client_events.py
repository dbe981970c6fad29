"""Events without holes: slow, stopped and late followers, and daemons that are restarted under them."""

import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from backtrail import CheckpointConfig, Client
from support.clients import home_in
from support.lossy import Lossy
from support.watching import eventually

_FOLLOW = """
import sys
from backtrail import Client
with Client(home=sys.argv[1], autostart=False) as client:
    for event in client.events(since=0):
        print(event.seq, flush=True)
"""


@pytest.fixture
def home(tmp_path):
    """No daemon outlives the test."""
    with home_in(tmp_path) as found:
        yield found


@pytest.fixture
def client(home):
    with Client(home=home) as found:
        yield found


@pytest.fixture
def ws(client, tmp_path):
    """A watched folder where nothing happens by itself."""
    (tmp_path / "work").mkdir()
    return client.watch(tmp_path / "work", CheckpointConfig(auto_checkpoint=False))


class _Follower:
    """A thread that follows, and what it got."""

    def __init__(self, events, pause=0.0):
        self.events, self.got, self._pause = events, [], pause
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self):
        for event in self.events:
            self.got.append(event)
            time.sleep(self._pause)  # a slow reader is what is tested

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.events.close()
        self.thread.join(20)
        assert not self.thread.is_alive()

    def seqs(self):
        return [event.seq for event in list(self.got)]

    def checkpoints(self):
        return [event.checkpoint for event in list(self.got) if event.type == "checkpoint_created"]

    def wait_for(self, seq):
        eventually(
            lambda: self.got and self.got[-1].seq >= seq, 30, f"{seq} never came after {self.seqs()[-3:]}"
        )


def test_a_stream_from_now_on_tells_what_comes_and_nothing_of_before(client, ws):
    """`events` without a number is for those who only care about what follows."""
    ws.save("before")
    with client.events() as events:
        after = ws.save("after")
        assert next(events).checkpoint == after.number


def test_a_stream_that_does_not_follow_ends_at_the_newest(client, ws):
    """For programs that catch up and go."""
    for number in range(3):
        ws.save(str(number))
    found = list(client.events(since=0, follow=False))
    assert [event.seq for event in found] == list(range(1, client.ping().seq + 1))
    assert list(client.events(since=found[-1].seq, follow=False)) == []
    assert [event.seq for event in client.events(since=found[1].seq, follow=False)] == [
        event.seq for event in found[2:]
    ]


def test_only_the_wanted_folder_is_told(client, ws, tmp_path):
    """By workspace, by path inside it, or by id; the others' events are no holes."""
    (tmp_path / "other").mkdir()
    other = client.watch(tmp_path / "other", CheckpointConfig(auto_checkpoint=False))
    with _Follower(client.events(workspace=tmp_path / "work")) as follower:
        for number in range(3):
            other.save(f"other {number}")
            ws.save(f"mine {number}")
        eventually(lambda: len(follower.got) == 3)
    assert {event.workspace for event in follower.got} == {ws.id}


def test_restarts_of_the_daemon_lose_nothing(home, client, ws):
    """A follower is there before, while and after a daemon is stopped, killed and started again."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with _Follower(ws.events(since=0)) as live, _Follower(ws.events(since=0), pause=0.01) as slow:
        for number in range(4):
            for _ in range(chance.randrange(1, 30)):
                ws.save()
            if number % 2:
                client.stop()
            else:
                home.kill()
        last = ws.save("last").number
        for follower in (live, slow):
            eventually(lambda follower=follower: last in follower.checkpoints(), 30, f"{last} was never told")
            assert follower.checkpoints() == list(range(1, last + 1))
            seqs = follower.seqs()  # others may be among them, as where a disk was slow
            assert seqs == list(range(1, len(seqs) + 1))
        assert len({event.epoch for event in live.got}) >= 3


def test_a_follower_does_not_start_a_daemon_that_was_stopped(home, client, ws):
    """Whoever stopped it meant it; the follower waits, and goes on when it is there again."""
    with _Follower(client.events(since=0)) as follower:
        follower.wait_for(client.ping().seq)
        client.stop()
        eventually(lambda: home.pid() is None)
        starts = home.starts()
        assert not follower.thread.join(0.5)  # long enough for several looks
        assert home.pid() is None
        assert home.starts() == starts
        ws.save("started by this")
        follower.wait_for(client.ping().seq)
        assert follower.seqs() == list(range(1, client.ping().seq + 1))


def test_a_stopped_follower_gets_all_that_it_missed(home, client, ws):
    """A laptop's lid, a debugger, Ctrl-Z; meanwhile the daemon it listens to is replaced by another."""
    with subprocess.Popen(
        [sys.executable, "-c", _FOLLOW, home], stdout=subprocess.PIPE, text=True
    ) as follower:
        assert follower.stdout is not None
        try:
            got = [int(follower.stdout.readline())]
            os.kill(follower.pid, signal.SIGSTOP)
            for end in (home.kill, client.stop, client.ping):
                for _ in range(10):
                    ws.save()
                end()
            newest = client.ping().seq
            os.kill(follower.pid, signal.SIGCONT)
            while got[-1] < newest:
                got.append(int(follower.stdout.readline()))
        finally:
            follower.kill()
    assert got == list(range(1, newest + 1))


def test_whatever_publishing_loses_or_repeats_is_filled_from_the_log(home, client, ws, tmp_path):
    """A queue that runs over drops events without a word; only their numbers tell."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    with Lossy(home.places.connection_file, tmp_path, seed) as lossy, Client(connection=lossy.file) as other:
        with _Follower(other.events(since=0)) as follower:
            for _ in range(60):
                ws.save()
            lossy.is_faithful = True
            newest = ws.save("this one gets through") and client.ping().seq
            follower.wait_for(newest)
            assert follower.seqs() == list(range(1, newest + 1))
        assert lossy.dropped > 10
        assert lossy.repeated > 1


def test_a_log_that_was_lost_does_not_silence_a_follower(home, client, ws):
    """Its numbers begin anew, below those that the follower has seen."""
    for _ in range(10):
        ws.save()
    with _Follower(client.events(since=client.ping().seq)) as follower:
        client.stop()
        eventually(lambda: home.pid() is None)
        for file in home.places.data.glob("events.db*"):
            file.unlink()
        saved = ws.save("after the loss")
        eventually(lambda: any(event.checkpoint == saved.number for event in list(follower.got)))
        assert follower.seqs()[-1] == client.ping().seq
        assert follower.seqs() == sorted(set(follower.seqs()))


def test_closing_a_stream_or_its_client_ends_a_thread_that_waits_in_it(client, home):
    """A program that shuts down must not hang on a silent daemon."""
    with _Follower(client.events()):
        pass
    other = Client(home=home)
    follower = _Follower(other.events())
    other.close()
    follower.thread.join(20)
    assert not follower.thread.is_alive()


def test_ctrl_c_ends_a_program_that_waits_for_events(home, client):
    """`backtrail events` is ended that way."""
    client.ping()
    program = _FOLLOW.replace("for event", "print('ready', flush=True)\n    for event")
    with subprocess.Popen(
        [sys.executable, "-c", program, home], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as follower:
        assert follower.stdout is not None
        follower.stdout.readline()
        follower.send_signal(signal.SIGINT)
        _, said = follower.communicate(timeout=20)
    assert "KeyboardInterrupt" in said
    assert follower.returncode == -signal.SIGINT


def test_progress_is_told_on_demand_only(client, ws, tmp_path):
    """It is not part of what happened, and there is much of it."""
    root = tmp_path / "many"
    root.mkdir()
    for number in range(60):  # progress is told of work that takes a while
        Path(root, str(number)).write_bytes(os.urandom(1_000_000))
    with _Follower(client.events(progress=True)) as curious, _Follower(client.events()) as calm:
        ws.save("so that both are known to be in step")
        curious.wait_for(client.ping().seq)
        client.watch(root)
        newest = client.ping().seq
        curious.wait_for(newest)
        calm.wait_for(newest)
    assert "progress" in {event.type for event in curious.got}
    assert "progress" not in {event.type for event in calm.got}
    assert curious.seqs() == sorted(curious.seqs())
