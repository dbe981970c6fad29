"""How clients find the daemon, and what they find while it ends and when it is gone."""

import os
import signal
import stat
import threading
from pathlib import Path

import pytest

from backtraild.server import calls, is_answering
from support.answering import Answering, answering
from support.clients import frozen
from support.listening import listening
from support.outside import Outside, outside, reached, short_home, start
from support.process import Process
from support.watching import eventually
from support.wire import connection_of


def test_the_connection_file_is_there_while_requests_are_answered_and_no_longer():
    """Whoever finds it can connect at once."""
    with short_home() as home, start(home) as process:
        daemon = reached(home, process)
        assert is_answering(daemon.requests, 10)
        found = connection_of(home)
        assert (found["pid"], found["protocol"]) == (process.pid, 1)
        assert stat.S_IMODE((home / "run" / "daemon.json").stat().st_mode) == 0o600
        with daemon.wire() as wire:
            assert wire.result("ping")["epoch"] == found["epoch"]
        assert process.end() == 0
        assert os.listdir(home / "run") == ["cookies"]


def test_stop_is_answered_and_ends_it_as_a_signal_would(tmp_path: Path):
    """What is pending is saved first."""
    (tmp_path / "work").mkdir()
    with short_home() as home:
        slow = "quiet = 600\npatience = 600\n"
        with start(home, configuration=slow) as process, reached(home, process).wire() as wire:
            name = wire.result("watch", path=str(tmp_path / "work"))["workspace"]
            (tmp_path / "work" / "a").write_text("just written")
            assert wire.result("stop") == {}
            assert process.status() == 0
        refs = home / "data" / "workspaces" / name / "repo.git" / "refs" / "checkpoints"
        assert sorted(os.listdir(refs)) == ["1", "2"]


def test_whatever_is_asked_after_stop_was_answered_is_for_the_next_daemon(tmp_path: Path):
    """A save that the ending daemon still took would leave nobody there, and followers would wait for ever."""
    with answering(tmp_path) as server, server.wire() as wire, server.wire() as other:
        workspace = server.watch(a="content")
        assert wire.result("stop") == {}
        for one in (wire, other):
            assert one.error("ping")["data"]["code"] == "daemon-stopping"
            error = one.error("save", workspace=workspace, allow_empty=True)
            assert error["data"]["code"] == "daemon-stopping"
        assert server.asked_to_stop.is_set()


def test_what_a_kill_leaves_behind_is_cleaned_up_by_the_next_one(tmp_path: Path):
    """The folder for the sockets of a home with a long path lies elsewhere."""
    home = tmp_path / ("x" * 100) / "home"
    home.parent.mkdir()
    with Process(home) as killed:
        folder = Path(reached(home, killed).requests.removeprefix("ipc://")).parent
        assert folder.name.startswith("backtrail-")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        killed.end(signal.SIGKILL)
    assert sorted(os.listdir(folder)) == ["events.sock", "requests.sock"]
    with Process(home).wait_until_ready() as process:
        daemon = reached(home, process)
        assert not folder.exists()
        other = Path(daemon.requests.removeprefix("ipc://")).parent
        with daemon.wire() as wire:
            assert wire.result("ping")["pid"] == process.pid
        assert process.end() == 0
    assert not other.exists()


def test_a_connection_file_that_says_anything_else_removes_nothing(tmp_path: Path):
    """It is only a file; whoever wrote it may have been mistaken."""
    mine = tmp_path / "backtrail-mine"
    mine.mkdir()
    (mine / "requests.sock").write_text("a file of mine")
    (tmp_path / "home" / "run").mkdir(parents=True)
    file = tmp_path / "home" / "run" / "daemon.json"
    for content in (
        b"nonsense",
        b"{}",
        b'{"protocol":1,"version":"","pid":1,"epoch":"","requests":"ipc://%s/requests.sock","events":"\\u0000"}'
        % os.fsencode(mine),
    ):
        file.write_bytes(content)
        with answering(tmp_path) as server, server.wire() as wire:
            assert wire.result("ping")
    assert (mine / "requests.sock").read_text() == "a file of mine"


def test_a_home_whose_path_is_no_text_has_its_sockets_elsewhere(tmp_path: Path):
    """The connection file is JSON and could not name them."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    with answering(folder) as server, server.wire() as wire:
        assert "backtrail-" in server.server.endpoints.requests
        assert wire.result("ping")


def test_those_who_ask_while_it_ends_are_told_so(tmp_path: Path):
    """They can ask the next one; silence would cost them their deadline."""
    server = Answering(tmp_path, auto_checkpoint=False)
    workspace = server.watch(a="content")
    with server.wire() as early, server.wire() as late:
        early.result("ping")
        late.result("ping")
        with server.busy(workspace):
            for _ in range(3):
                early.send("save", workspace=workspace, allow_empty=True)
            loop = server.server._loop
            assert loop is not None
            eventually(lambda: loop._ledger._of_all == 3)
            ending = threading.Thread(target=server.close)
            ending.start()
            eventually(lambda: not server.places.connection_file.exists())
            for method, params in (("ping", {}), ("save", {"workspace": workspace}), ("workspaces", {})):
                error = late.error(method, **params)
                assert error["data"]["code"] == "daemon-stopping"
        answers = [early.receive() for _ in range(3)]
        ending.join()
    codes = {answer.get("error", {}).get("data", {}).get("code", "done") for answer in answers}
    assert codes <= {"done", "workspace-unavailable"}


def test_a_probe_finds_out_that_nobody_answers(tmp_path: Path):
    """The watchdog must not be fed by a daemon that hangs."""
    with short_home() as home, outside(home) as daemon:
        assert is_answering(daemon.requests, 10)
        with frozen(daemon.pid):
            assert not is_answering(daemon.requests, 0.3)
        assert is_answering(daemon.requests, 10)
    assert not is_answering(daemon.requests, 0.1)


def test_what_was_under_way_or_waiting_is_answered_before_the_sockets_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Sixteen are at work, the others wait for a thread; nobody is left without a word."""
    server, over = Answering(tmp_path, auto_checkpoint=False), threading.Event()

    def stumble(*_: object) -> None:
        over.wait(60)
        raise OSError("what it needed was closed")

    monkeypatch.setitem(calls.SLOW, "verify", stumble)
    with server.wire() as wire:
        for _ in range(20):
            wire.send("verify", workspace="any")
        wire.result("ping")
        ending = threading.Thread(target=server.close)
        ending.start()
        eventually(lambda: not server.places.connection_file.exists())
        over.set()
        codes = {wire.receive()["error"]["data"]["code"] for _ in range(20)}
        ending.join()
    assert codes == {"daemon-stopping"}


def test_a_loop_that_fails_ends_the_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A daemon that nobody can reach is worse than one that is started again."""
    with answering(tmp_path) as server, server.wire() as wire:
        assert wire.result("ping")

        def stumble(_: float) -> float:
            raise MemoryError

        monkeypatch.setattr(server.server._bulletin, "heartbeat", stumble)
        wire.send("ping")
        assert server.asked_to_stop.wait(30)


def test_one_bad_step_does_not_end_the_loop(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    """Whatever is wrong with one message, the next one is served."""
    with answering(tmp_path) as server, server.wire() as wire:
        server.server._outbox.post(lambda: 1 // 0)
        assert wire.result("ping")
    assert "goes on after a failure" in caplog.text


def test_the_manager_hears_that_it_is_ready_once_it_can_be_reached_and_when_it_stops(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """What is started after it may use it at once."""
    with short_home() as home, listening(home.parent, monkeypatch) as ear, start(home) as process:
        assert ear.hear(30).startswith(b"READY=1\n")
        with Outside(home, process).wire() as wire:
            assert wire.result("ping")["pid"] == process.pid
            wire.result("stop")
        assert ear.hear(30) == b"STOPPING=1"
        assert process.status() == 0
        assert "a client asks" in process.said()
