"""The daemon as a process: one at a time, ended by signals and kills, started again."""

import json
import logging
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from backtraild import __main__ as daemon
from backtraild import logs
from backtraild.registry import workspace_id
from support.process import Process
from support.project import Files, files_of
from support.watching import eventually


class Ground:
    """A home for daemons and a folder for them to watch."""

    def __init__(self, folder: Path) -> None:
        self.home, self.root = folder / "home", folder / "work"
        self.root.mkdir()
        (self.home / "config").mkdir(parents=True)
        (self.home / "config" / "config.toml").write_text("quiet = 0.05\npatience = 1\n")
        self.store = self.home / "data" / "workspaces" / workspace_id(str(self.root))
        self.git_dir = self.store / "repo.git"
        self.log = self.home / "data" / "daemon.log"

    def start(self, *arguments: str, **environment: str) -> Process:
        return Process(self.home, *(arguments or ("--watch", str(self.root))), environment=environment)

    def numbers(self) -> list[int]:
        return sorted(
            int(name) for name in os.listdir(self.git_dir / "refs" / "checkpoints") if name.isdecimal()
        )

    def captured(self) -> Files:
        return files_of(self.git_dir, f"refs/checkpoints/{self.numbers()[-1]}^{{tree}}")

    def message(self) -> str:
        done = subprocess.run(
            [
                "git",
                "--git-dir",
                self.git_dir,
                "log",
                "-1",
                "--format=%s",
                f"refs/checkpoints/{self.numbers()[-1]}",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_what_is_pending_and_ends_it_with_status_0(ground: Ground, number: signal.Signals):
    """Shutting down right after an edit must not cost the edit."""
    (ground.home / "config" / "config.toml").write_text("quiet = 600\npatience = 600\n")
    with ground.start().wait_until_ready() as daemon:
        (ground.root / "a").write_text("written just before the end")
        started = time.monotonic()
        assert daemon.end(number) == 0
        assert time.monotonic() - started < 5
        assert f"stopping on {number.name}" in daemon.said()
        assert "Traceback" not in daemon.said()
    assert ground.captured() == {b"a": ("file", b"written just before the end")}


def test_it_says_when_it_is_ready_and_then_everything_is_captured(ground: Ground):
    """Whoever starts it waits for one line."""
    (ground.root / "a").write_text("there before")
    with ground.start().wait_until_ready() as daemon:
        assert f"ready: watching 1 folders, process {daemon.pid}" in daemon.said()
        assert ground.captured() == {b"a": ("file", b"there before")}
        assert daemon.end() == 0


def test_after_a_kill_the_next_one_catches_up_and_says_so(ground: Ground):
    """Power is gone, files change, power is back: no manual step, no hole."""
    with ground.start().wait_until_ready() as daemon:
        assert daemon.end(signal.SIGKILL) == -signal.SIGKILL
    before = ground.numbers()
    (ground.root / "a").write_text("while nobody watched")
    leftover = ground.git_dir / "objects" / "pack" / "pack-x.tmp"
    leftover.write_text("half a pack")
    lock = ground.git_dir / "refs" / "checkpoints" / "9.lock"
    lock.touch()
    with ground.start("--verbose").wait_until_ready() as daemon:
        assert ground.numbers() == [*before, before[-1] + 1]
        assert ground.message() == "a added (while Backtrail was not watching)"
        assert not leftover.exists()
        assert not lock.exists()
        assert list((ground.home / "run" / "cookies").iterdir()) == []
        assert daemon.end() == 0


def test_a_second_one_ends_at_once_and_says_why(ground: Ground):
    """Two writers would destroy the store."""
    with ground.start().wait_until_ready() as first:
        with ground.start() as second:
            assert second.status() == 1
            assert f"Another Backtrail daemon is running (process {first.pid})." in second.said()
        (ground.root / "a").write_text("the first one works on")
        eventually(lambda: ground.captured() == {b"a": ("file", b"the first one works on")})
        assert first.end() == 0


def test_of_many_started_at_once_exactly_one_survives(ground: Ground):
    """A dozen commands in a script each find no daemon and start one."""
    daemons = [ground.start() for _ in range(20)]
    try:
        eventually(lambda: sum(daemon.is_running() for daemon in daemons) == 1, 90)
        (survivor,) = [daemon for daemon in daemons if daemon.is_running()]
        survivor.wait_until_ready()
        assert [daemon.status() for daemon in daemons if daemon is not survivor] == [1] * 19
        assert survivor.end() == 0
        assert ground.numbers() == [1]
    finally:
        for daemon in daemons:
            daemon.__exit__()


def test_only_its_owner_can_look_at_what_it_keeps(ground: Ground):
    """The store holds what the files hold, also those that others may not read."""
    (ground.root / "a").write_text("private")
    before = os.umask(0)
    try:
        with ground.start().wait_until_ready() as daemon:
            assert daemon.end() == 0
    finally:
        os.umask(before)
    for path in [*(ground.home / "data").rglob("*"), *(ground.home / "run").rglob("*")]:
        mode = stat.S_IMODE(path.lstat().st_mode)
        assert mode & 0o077 == 0, f"{path} {mode:o}"
    assert (ground.home / "data").stat().st_mode & 0o777 == 0o700


def test_the_log_is_lines_of_json_without_the_content_of_any_file(ground: Ground):
    """A log is mailed to strangers; it names files, but never shows what is in them."""
    (ground.root / "secret").write_text("password=hunter2")
    with ground.start("--watch", str(ground.root), "--verbose").wait_until_ready() as daemon:
        (ground.root / "secret").write_text("password=hunter3")
        eventually(lambda: len(ground.numbers()) == 2)
        (ground.root / os.fsdecode(b"caf\xe9\n{}")).write_text("a name that is no line of JSON")
        eventually(lambda: len(ground.numbers()) == 3)
        assert daemon.end() == 0
        output = daemon.said()
    lines = [json.loads(line) for line in ground.log.read_text().splitlines()]
    assert {"time", "level", "thread", "logger", "message"} <= lines[0].keys()
    assert any("secret" in line["message"] for line in lines)
    for text in (ground.log.read_text(), output):
        assert "hunter" not in text


def test_verbose_says_more():
    """For the day when something is wrong."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        for verbose, wanted in ((True, logging.DEBUG), (False, logging.INFO)):
            logs.set_up(Path(os.devnull), verbose=verbose)
            assert root.level == wanted
            for handler in root.handlers:
                handler.close()
    finally:
        root.handlers[:], root.level = handlers, level


def test_the_log_is_rotated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A daemon that runs for a year must not fill the disk with its own words."""
    monkeypatch.setattr(logs, "SIZE", 2000)
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        logs.set_up(tmp_path / "daemon.log", verbose=False)
        for number in range(200):
            logging.getLogger("backtraild").info("line %d", number)
        for handler in root.handlers:
            handler.close()
    finally:
        root.handlers[:], root.level = handlers, level
    assert sorted(os.listdir(tmp_path)) == ["daemon.log", "daemon.log.1", "daemon.log.2"]
    assert all(path.stat().st_size <= 2000 for path in tmp_path.iterdir())
    assert "line 199" in (tmp_path / "daemon.log").read_text()


@pytest.mark.parametrize(
    ("file", "content", "said", "code"),
    [
        ("config/config.toml", b"quite = 1", "unknown field `quite`", 2),
        ("config/config.toml", b"quiet = '\xff'", "is not UTF-8 text", 2),
    ],
)
def test_what_keeps_it_from_starting_is_said_in_a_sentence(
    ground: Ground, file: str, content: bytes, said: str, code: int
):
    """A traceback tells a user nothing."""
    (ground.home / "data").mkdir()
    (ground.home / file).write_bytes(content)
    with ground.start() as daemon:
        assert daemon.status() == code
        assert said in daemon.said()
        assert "Traceback" not in daemon.said()


def test_a_folder_that_may_not_be_watched_is_said_and_ends_it(ground: Ground):
    """`backtraild --watch ~` is a mistake to be told of at once."""
    with ground.start("--watch", "/usr") as daemon:
        assert daemon.status() == 1
        assert "'/usr' belongs to the system" in daemon.said()


def test_a_damaged_event_log_does_not_keep_it_from_starting(ground: Ground):
    """Events are made again from the stores."""
    with ground.start().wait_until_ready() as daemon:
        assert daemon.end() == 0
    (ground.home / "data" / "events.db").write_bytes(b"garbage" * 1000)
    with ground.start().wait_until_ready() as daemon:
        assert "damaged" in daemon.said()
        assert daemon.end() == 0


_INTERRUPTED_RESTORE = """
import os, signal, sys
from backtraild.restore import transaction
from backtraild.workspace import Workspace
workspace = Workspace(sys.argv[1], sys.argv[2])
import backtraild.workspace.recorder as recorder
save = recorder.Recorder.save
def killed(self, intent, *arguments, **options):
    if intent.kind.value == "restore":
        os.kill(os.getpid(), signal.SIGKILL)
    return save(self, intent, *arguments, **options)
recorder.Recorder.save = killed
workspace.restore("1")
"""


def test_a_restore_that_a_kill_interrupted_is_finished_at_the_start(ground: Ground):
    """Half of one state and half of another is the one thing nobody can work with."""
    for number in range(20):
        (ground.root / f"{number}").write_text("old")
    with ground.start().wait_until_ready() as daemon:
        assert daemon.end() == 0
    for number in range(20):
        (ground.root / f"{number}").write_text("new")
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED_RESTORE, ground.root, ground.store], check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert (ground.store / "restore.journal").exists()
    with ground.start().wait_until_ready() as daemon:
        assert not (ground.store / "restore.journal").exists()
        contents = {path.read_text() for path in ground.root.iterdir()}
        assert contents == {"old"}
        assert "Restored checkpoint 1" in daemon.said()
        assert daemon.end() == 0


def test_a_signal_during_a_long_start_ends_it_soon(ground: Ground):
    """The session ends while the first look at a large folder goes on."""
    for number in range(3000):
        folder = ground.root / f"{number // 10}"
        folder.mkdir(exist_ok=True)
        (folder / f"{number}").write_bytes(b"%d" % number * 500)
    with ground.start() as daemon:
        daemon.wait_for("workspace_added")
        started = time.monotonic()
        assert daemon.end() == 0
        assert time.monotonic() - started < 5


def test_help_names_an_example():
    """The only thing one can do with a daemon by hand."""
    assert "Example: backtraild --watch" in daemon._parser().format_help()


def test_a_daemon_whose_folders_are_deleted_ends(tmp_path: Path):
    """Nobody can reach it any more; it would watch, and write into nothing, until the machine is turned off."""
    home = tmp_path / "home"
    with Process(home).wait_until_ready() as daemon:
        shutil.rmtree(home)
        assert daemon.status() == 0
        assert "folders were deleted" in daemon.said()
    assert not home.exists()
