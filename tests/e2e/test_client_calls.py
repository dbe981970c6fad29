"""Everything a program does with a workspace, through the wire, as the interface promises it."""

import os
import random
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from backtrail import (
    CheckpointConfig,
    Client,
    MirrorFailed,
    NothingToDo,
    RefusedWorkspace,
    UnknownCheckpoint,
    UnknownPath,
    UnknownWorkspace,
    UsageError,
)
from support.clients import at_once, home_in
from support.git import git

_INTERFACE = """
from backtrail import Client, AsyncClient, CheckpointService, CheckpointEvent

with Client() as client:                       # starts the daemon if needed
    ws = client.watch("~/project")
    before = ws.save("before the refactoring")
    ...
    print(ws.diff(before.id).diff_content)
    ws.restore(before.id)
    for event in client.events(workspace=ws):  # survives daemon restarts, no holes
        print(event.type, event.checkpoint)
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """One daemon for all tests of this module."""
    with home_in(tmp_path_factory.mktemp("calls")) as found:
        yield found


@pytest.fixture
def client(home):
    with Client(home=home) as found:
        yield found


@pytest.fixture
def ws(client, tmp_path):
    """A watched folder with one file, where nothing happens by itself."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    found = client.watch(root, CheckpointConfig(auto_checkpoint=False))
    yield found
    found.unwatch(purge=True)


def _write(ws, path, content):
    target = Path(ws.root) / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content)


def test_the_python_example_of_the_interface_works_as_it_is_written(tmp_path, monkeypatch):
    """People copy it."""
    (tmp_path / "project").mkdir()
    printed = []

    def show(*values):
        """As print does; the loop over events, which never ends, is left after its first event."""
        printed.append(values)
        if len(values) == 2:
            raise KeyboardInterrupt

    with home_in(tmp_path) as home:
        monkeypatch.setenv("BACKTRAIL_HOME", str(home.path))
        later = "    later = threading.Timer(0.2, ws.save, ['later']); later.start()\n"
        names = {"print": show, "threading": threading}
        with pytest.raises(KeyboardInterrupt):
            exec(_INTERFACE.replace("    for event", f"{later}    for event"), names)  # noqa: S102 (the example)
        names["later"].join()
    assert printed == [("",), ("checkpoint_created", printed[-1][1])]


def test_a_save_is_read_listed_compared_restored_and_undone(ws):
    """The whole life of a checkpoint."""
    _write(ws, "a.txt", b"two\n")
    saved = ws.save("second", session="s", turn=3, metadata={"key": [1]})
    assert (saved.message, saved.session, saved.turn, saved.metadata["key"]) == ("second", "s", 3, [1])
    assert [str(change) for change in saved.files_changed] == ["a.txt"]
    assert [each.message for each in ws.list(limit=1)] == ["second"]
    assert ws.get(saved) == ws.get(saved.number) == ws.get(saved.id[:12]) == ws.get("@")
    assert ws.read(1, "a.txt") == b"one\n"
    assert ws.read("@:a.txt") == b"two\n"
    difference = ws.diff(1, saved, paths=[Path(ws.root) / "a.txt"])
    assert (difference.modified_files, difference.to_id) == (["a.txt"], saved.id)
    assert "-one\n+two\n" in difference.diff_content
    assert ws.restore(1, dry_run=True).written == ["a.txt"]
    assert ws.restore(1).written == ["a.txt"]
    assert (Path(ws.root) / "a.txt").read_text() == "one\n"
    assert ws.undo().written == ["a.txt"]
    assert (Path(ws.root) / "a.txt").read_text() == "two\n"


def test_pages_times_and_filters_reach_the_daemon(ws):
    """All that `list` offers."""
    for number in range(3):
        _write(ws, f"f{number}", b"x")
        ws.save(f"number {number}", kind="agent" if number == 1 else "manual")
    page = ws.page(limit=2)
    assert [each.message for each in page.checkpoints] == ["number 2", "number 1"]
    assert [each.message for each in ws.list(limit=2, cursor=page.next)] == ["number 0", "Baseline"]
    assert [each.message for each in ws.list(path=Path(ws.root) / "f0")] == ["number 0"]
    assert [each.message for each in ws.list(kind="agent")] == ["number 1"]
    assert ws.list(since=datetime.now(UTC) + timedelta(hours=1)) == []
    assert len(ws.list(until=datetime.now())) == 4  # noqa: DTZ005 (a naive time is meant)


def test_a_file_larger_than_one_piece_is_read_whole(ws):
    """Pieces are the wire's affair, not the caller's."""
    content = random.Random(7).randbytes(9_000_000)
    _write(ws, "big.bin", content)
    ws.save()
    assert ws.read("@", "big.bin") == content


def test_names_that_are_not_utf8_go_there_and_back(ws):
    """On disk they are bytes."""
    with open(os.path.join(os.fsencode(ws.root), b"caf\xe9"), "wb") as file:
        file.write(b"black")
    saved = ws.save()
    assert [change.path for change in saved.files_changed] == ['"caf\\351"']
    assert ws.read("@", b"caf\xe9") == ws.read("@", '"caf\\351"') == b"black"


def test_retention_by_hand(ws):
    """delete, pin, unpin, prune, verify."""
    saved = ws.save("doomed")
    assert ws.pin(saved).pinned
    assert not ws.unpin(saved).pinned
    assert [each.number for each in ws.delete(saved.number)] == [saved.number]
    assert ws.prune(dry_run=True).dry_run
    assert ws.verify().damage == []


def test_the_errors_of_the_daemon_are_those_of_the_library(ws, client, tmp_path):
    """Each can be caught by its class, and has a sentence."""
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(UnknownCheckpoint):
        ws.get(999)
    with pytest.raises(UnknownPath):
        ws.read("@", "nothing")
    with pytest.raises(NothingToDo):
        ws.save(allow_empty=False)
    with pytest.raises(UnknownWorkspace):
        client.workspace(tmp_path / "elsewhere")
    with pytest.raises(RefusedWorkspace):
        client.watch("/")
    with pytest.raises(UsageError):
        ws.list(since="some day")


def test_a_workspace_is_found_from_inside_by_path_and_by_id(ws, client, monkeypatch):
    """As the command line does it from the current folder."""
    _write(ws, "deep/er/x", b"")
    monkeypatch.chdir(Path(ws.root) / "deep" / "er")
    assert client.workspace().id == client.workspace(ws.id).id == client.workspace(Path("..")).id == ws.id
    assert ws.id in [each.workspace for each in client.workspaces()]
    assert ws.pause().state == "paused"
    assert ws.resume_watching().state == "watching"
    assert ws.status().root == ws.root


def test_progress_of_a_long_watch_is_told_to_the_one_who_asked(client, tmp_path):
    """A bar that moves; other requests' progress is not mixed in."""
    root = tmp_path / "many"
    root.mkdir()
    for number in range(60):  # progress is told of work that takes a while
        (root / f"{number}.bin").write_bytes(os.urandom(1_000_000))
    told = []
    found = client.watch(root, on_progress=told.append)
    found.unwatch(purge=True)
    assert told
    assert {(event.type, event.data["unit"]) for event in told} == {("progress", "files")}
    assert len({event.data["job"] for event in told}) == 1


def test_20_threads_share_one_client(client, tmp_path):
    """Answers must find their own caller, whatever the others are asking."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    roots = [tmp_path / f"shared-{number}" for number in range(5)]
    for root in roots:
        root.mkdir()
    config = CheckpointConfig(auto_checkpoint=False)
    spaces = [client.watch(root, config) for root in roots]

    def work(number):
        choice, ws = random.Random(seed + number), spaces[number % 5]
        for turn in range(6):
            mark = f"{number}.{turn}"
            Path(ws.root, f"{number}.txt").write_text(mark)
            assert ws.save(mark).message == mark
            asked = choice.choice(["status", "list", "read", "ping"])
            if asked == "status":
                assert ws.status().workspace == ws.id
            elif asked == "list":
                assert mark in [each.message for each in ws.list()]
            elif asked == "read":
                assert ws.read("@", f"{number}.txt") == mark.encode()
            else:
                client.ping()
        return number

    assert at_once(*[lambda number=number: work(number) for number in range(20)]) == list(range(20))
    for ws in spaces:
        assert len(ws.list()) == 4 * 6 + 1
        ws.unwatch(purge=True)


def test_a_closed_client_says_that_it_is_closed(client):
    """Instead of an error about sockets."""
    client.close()
    with pytest.raises(UsageError, match="closed"):
        client.ping()


def test_a_mirror_is_made_and_kept_up_to_date(ws, tmp_path):
    """A backup job is a loop around one call."""
    there = tmp_path / "mirror.git"
    with pytest.raises(MirrorFailed, match="does not appear to be a git repository"):
        ws.mirror(there)
    git("init", "-q", "--bare", there)
    assert ws.mirror(there, dry_run=True).dry_run
    assert ws.mirror(there).new == ["refs/checkpoints/1"]
    saved = ws.save("second")
    done = ws.mirror(str(there), delete=True)
    assert (done.new, done.up_to_date) == ([f"refs/checkpoints/{saved.number}"], 1)
    assert git("show", "refs/checkpoints/1:a.txt", git_dir=there) == b"one\n"
