"""A real `systemd --user` for a test: its own processes, mounts and control groups, gone when the test is over."""

import contextlib
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.watching import eventually

_TESTS = Path(__file__).parent.parent
_PROGRAMS = (Path("/usr/lib/systemd/systemd"), Path("/lib/systemd/systemd"))
_GROUPS = Path("/sys/fs/cgroup")
# The shell goes into the group that was made for it, which then is all that its namespace sees of the hierarchy.
_ENTER = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
_NAMESPACES = ("unshare", "--mount", "--cgroup", "--pid", "--fork", "--mount-proc", "--kill-child")


def run_apart(module: str, function: str, folder: Path) -> None:
    """Call `module.function(folder)` as the first process of its own world; skips where there can be none."""
    call = f"import pathlib, {module}; {module}.{function}(pathlib.Path({str(folder)!r}))"
    with _control_group() as group:
        done = subprocess.run(
            ["sh", "-c", _ENTER, group, *_NAMESPACES, sys.executable, "-W", "error", "-c", call],
            env={**os.environ, "PYTHONPATH": str(_TESTS)},
            capture_output=True,
            text=True,
            timeout=120,
        )
    log = folder / "systemd.log"
    said = log.read_text() if log.exists() else ""
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n--- systemd said:\n{said}"


@contextlib.contextmanager
def booted(folder: Path) -> Iterator[None]:
    """In this block a systemd runs for the user; afterwards nothing runs but the caller."""
    _mount()
    runtime = Path(f"/run/user/{os.getuid()}")
    runtime.mkdir(parents=True, mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(runtime)
    # No variable of the test's: a unit has to bring what it needs.
    clean = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_RUNTIME_DIR")}
    with open(folder / "systemd.log", "ab") as log:
        systemd = subprocess.Popen(
            [_program(), "--user", "--log-target=console"], env=clean, stdout=log, stderr=log
        )
    try:
        eventually((runtime / "systemd" / "private").exists, why="systemd does not come up")
        yield
    finally:
        systemd.terminate()
        systemd.wait(60)
    eventually(lambda: processes() == [os.getpid()], why=f"left behind: {processes()}")


def processes() -> list[int]:
    """All processes of this world."""
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def shown(unit: str, *properties: str) -> list[str]:
    """What systemd knows about a unit."""
    done = subprocess.run(
        ["systemctl", "--user", "show", unit, *(f"--property={name}" for name in properties)],
        capture_output=True,
        text=True,
        check=True,
    )
    found = dict(line.split("=", 1) for line in done.stdout.splitlines())
    return [found[name] for name in properties]


def systemctl(*arguments: str) -> int:
    """Ask for something; the exit status."""
    return subprocess.run(["systemctl", "--user", *arguments], capture_output=True, check=False).returncode


def _mount() -> None:
    """What systemd takes for the sign of a machine that it runs, and the groups it puts services into."""
    for command in (
        ["mount", "-t", "tmpfs", "tmpfs", "/run"],
        ["umount", "--recursive", _GROUPS],
        ["mount", "-t", "cgroup2", "cgroup2", _GROUPS],
    ):
        subprocess.run(command, check=True, capture_output=True)
    Path("/run/systemd/system").mkdir(parents=True)


@contextlib.contextmanager
def _control_group() -> Iterator[Path]:
    """A control group for the test's processes; systemd makes its own inside it."""
    _skip_unless_possible()
    group = _hierarchy() / f"backtrail-test-{uuid.uuid4().hex[:8]}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    try:
        yield group
    finally:
        eventually(lambda: _is_removed(group), why=f"processes are left in {group}")


def _is_removed(group: Path) -> bool:
    for top, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):  # what was killed in it takes a moment to be gone
            os.rmdir(top)
    return not group.exists()


def _skip_unless_possible() -> None:
    if sys.platform != "linux":
        pytest.skip("systemd is Linux's")
    if os.geteuid() != 0:
        pytest.skip("only root can give systemd mounts and control groups of its own")
    missing = [name for name in ("unshare", "systemctl") if shutil.which(name) is None]
    if missing or _program() is None:
        pytest.skip(f"not on this machine: {', '.join(missing) or 'systemd'}")


def _program() -> Path | None:
    return next((path for path in _PROGRAMS if path.exists()), None)


def _hierarchy() -> Path:
    for line in Path("/proc/self/mounts").read_text().splitlines():
        _, where, kind, *_ = line.split()
        if kind == "cgroup2":
            return Path(where)
    pytest.skip("no unified control groups are mounted here")
