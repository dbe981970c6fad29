"""Scarcity: a daemon short of descriptors, of memory or of room in a file, or with very much to look after."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

from backtrail.client import Client
from backtrail.errors import BacktrailError, Bug
from support.clients import Home, home_in
from support.disk import fsck
from support.project import Project, files_of
from support.strange import state
from support.watching import eventually
from torture.campaign import Campaign, Counts, Finished, Round, Unable

_LIMITS = (
    *((resource.RLIMIT_NOFILE, count) for count in (8, 16, 20, 24, 28, 32, 36, 40, 48, 64, 96, 128)),
    *((resource.RLIMIT_FSIZE, size * 1024) for size in (1, 16, 64, 128, 512)),
    *((resource.RLIMIT_AS, size * 2**20) for size in (60, 120, 160, 200, 250, 300, 400)),
)
_SHORTAGES = ("MemoryError", "RuntimeError")  # the latter where no thread can be started
_SAVES = 6
_CROWD = 100_000
_MANY = 50


def run_short(turn: Round) -> Counts:
    """Let a daemon work under one limit, then another without it: what the first acknowledged is all there."""
    if turn.number >= len(_LIMITS):
        raise Finished
    root = turn.folder / "work"
    root.mkdir()
    (root / "file").write_bytes(b"before")
    with home_in(turn.folder) as home:
        acknowledged, errors = _work_under(_LIMITS[turn.number], home, root)
        _check_all(home, root, acknowledged)
    return {"acknowledged": len(acknowledged), "refused with a reason": errors}


def _work_under(limit: tuple[int, int], home: Home, root: Path) -> tuple[dict[int, bytes], int]:
    """What was acknowledged, by its number, and how often it was said why not."""
    daemon = _start(home, limit)
    saved: dict[int, bytes] = {}
    errors = 0
    try:
        if not _is_ready(home, daemon):
            return {}, 1
        for number in range(_SAVES):
            content = os.urandom(1000 * 20**number if number < 4 else 1000)
            (root / "file").write_bytes(content)
            try:
                with Client(home=home.path, autostart=False) as client:
                    saved[client.watch(root).save(f"save {number}").number] = content
            except Bug as error:
                if not any(cause in error.message for cause in _SHORTAGES):
                    raise
                errors += 1
            except BacktrailError:
                errors += 1
    finally:
        daemon.kill()
        daemon.wait()
    return saved, errors


def _is_ready(home: Home, daemon: "subprocess.Popen[bytes]") -> bool:
    """Whether it answers; if it ends instead, it has to say why."""
    eventually(lambda: _listening(home) == daemon.pid or daemon.poll() is not None)
    if daemon.poll() is None:
        return True
    said = (home.path / "said").read_text()
    assert said.strip(), f"the daemon ended with {daemon.returncode} and without a word"
    assert "Traceback" not in said or any(shortage in said for shortage in _SHORTAGES), said
    return False


def _listening(home: Home) -> int | None:
    """The process that says where it listens; one that was killed still says so."""
    try:
        return int(json.loads(home.places.connection_file.read_bytes())["pid"])
    except FileNotFoundError:
        return None


def _start(home: Home, limit: tuple[int, int] | None) -> "subprocess.Popen[bytes]":
    def confine() -> None:
        if limit is not None:
            resource.setrlimit(limit[0], (limit[1], limit[1]))

    home.path.mkdir(exist_ok=True)
    with open(home.path / "said", "wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "backtraild"],
            env={**os.environ, "BACKTRAIL_HOME": str(home.path)},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            preexec_fn=confine,
        )


def _check_all(home: Home, root: Path, acknowledged: dict[int, bytes]) -> None:
    daemon = _start(home, None)
    try:
        assert _is_ready(home, daemon), (home.path / "said").read_text()
        with Client(home=home.path, autostart=False) as client:
            workspace = client.watch(root)
            for number, content in acknowledged.items():
                assert workspace.read(f"{number}:file") == content, f"checkpoint {number} lost its content"
            (root / "file").write_bytes(b"after")
            workspace.save("after")
    finally:
        daemon.terminate()
        daemon.wait()
    for git_dir in home.places.data.glob("workspaces/*/repo.git"):
        fsck(git_dir)


def look_after_many(turn: Round) -> Counts:
    """Watch fifty folders with the soft limit of descriptors that many systems have, and save in each."""
    with home_in(turn.folder) as home:
        daemon = _start_modestly(home)
        try:
            assert _is_ready(home, daemon)
            descriptors = _save_in_each(home, turn.folder)
        finally:
            daemon.terminate()
            daemon.wait()
    return {"folders": _MANY, "most descriptors": descriptors}


def _start_modestly(home: Home) -> "subprocess.Popen[bytes]":
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        raise Unable(f"no more than {hard} files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        return _start(home, None)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _save_in_each(home: Home, folder: Path) -> int:
    with Client(home=home.path, autostart=False) as client:
        for number in range(_MANY):
            root = folder / f"work-{number}"
            root.mkdir()
            (root / "file").write_text("one")
            workspace = client.watch(root)
            (root / "file").write_text(f"two {number}")
            saved = workspace.save("two")
            assert workspace.read(f"{saved.number}:file") == b"two %d" % number
        return len(os.listdir(f"/proc/{home.pid()}/fd"))


def crowd(turn: Round) -> Counts:
    """A hundred thousand files in one folder: captured, one of them changed, half of them deleted and restored."""
    with Project(turn.folder) as project:
        for number in range(_CROWD):
            (project.root / f"{number}").write_bytes(b"%d" % number)
        first = project.workspace.start()
        assert len(files_of(project.git_dir, first.tree)) == _CROWD
        (project.root / "7").write_bytes(b"changed")
        assert project.save(dirty=[b"7"]).files_changed_count == 1
        for number in range(0, _CROWD, 2):
            (project.root / f"{number}").unlink()
        assert project.workspace.restore("1").conflicts == ()
        assert state(os.fsencode(project.root)) == files_of(project.git_dir, first.tree)
    return {"files in one folder": _CROWD}


CAMPAIGNS: tuple[Campaign, ...] = (
    Campaign(
        "scarcity",
        "R10",
        "A daemon under a limit works or says what it lacks, and what it acknowledged is there without the limit.",
        len(_LIMITS),
        run_short,
    ),
    Campaign(
        "many-folders",
        "P6",
        "Fifty folders are watched and saved with a soft limit of 256 files.",
        5,
        look_after_many,
    ),
    Campaign("crowded-folder", "P11", "A folder of 100,000 files is captured and restored.", 2, crowd, 600.0),
)
