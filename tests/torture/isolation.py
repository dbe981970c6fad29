"""What a round may not leave behind: its processes, its mounts, its files; and what must not reach it."""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE = 5.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def isolate_environment(home: Path) -> None:
    """As in the tests: nothing of the person who runs them reaches a round."""
    foreign = ("GIT_", "XDG_", "BACKTRAIL_", "PYTHONPATH")
    for name in [name for name in os.environ if name.startswith(foreign)]:
        del os.environ[name]
    temporary = home / "tmp"
    temporary.mkdir()
    os.environ.update(HOME=str(home), TMPDIR=str(temporary))
    os.environ.update(GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull)


def adopt_orphans() -> None:
    """Whatever a round starts and leaves becomes a child of this process, which ends when the run does."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


def end_orphans() -> list[str]:
    """Waits a moment for what was left to end by itself, then kills it; the command lines of what was killed."""
    patience = time.monotonic() + GRACE
    killed: dict[int, str] = {}
    while children := _living_children():
        if time.monotonic() > patience:
            for pid in children:
                killed.setdefault(pid, _command(pid))
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return list(killed.values())


def _living_children() -> list[int]:
    """The children of this process; those that have ended are buried."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return []
    return [int(path.name) for path in Path("/proc").glob("[0-9]*") if _parent(path) == os.getpid()]


def _parent(process: Path) -> int:
    try:
        # The name of a process stands in brackets and may hold anything, also brackets.
        return int((process / "stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return 0


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return f"process {pid}"


def end_mounts(folder: Path) -> list[str]:
    """Takes down the mounts below the folder; where they were, relative to it."""
    table = Path("/proc/self/mountinfo")
    lines = table.read_text(errors="replace").splitlines() if table.exists() else []
    points = [line.split()[4] for line in lines]
    below = [point for point in points if point.startswith(f"{folder}/")]
    for point in reversed(below):
        subprocess.run(["umount", "--lazy", point], check=False, capture_output=True)
    return [os.path.relpath(point, folder) for point in below]


def remove(folder: Path) -> None:
    """Removes everything, however deep, closed or immutable it is."""
    subprocess.run(["rm", "-rf", folder], check=False, capture_output=True)
    if folder.exists():
        if shutil.which("chattr"):
            subprocess.run(["chattr", "-R", "-f", "-i", "-a", folder], check=False, capture_output=True)
        subprocess.run(["chmod", "-R", "u+rwx", folder], check=False, capture_output=True)
        subprocess.run(["rm", "-rf", folder], check=False, capture_output=True)
