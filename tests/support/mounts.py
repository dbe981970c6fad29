"""File systems of a test's own, mounted in a world of processes and mounts that ends with it, whatever happens."""

import contextlib
import ctypes
import fcntl
import importlib
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any, NoReturn

from support.watching import eventually
from torture.campaign import Unable

DROP, FLUSH = (
    2,
    1,
)  # what has not reached the journal is lost, or what is in memory of the journal is written first

_NEW_MOUNTS, _NEW_PROCESSES = 0x00020000, 0x20000000  # of sched.h
_DEATH_SIGNAL = 1  # of prctl.h
_GOING_DOWN = 0x8004587D
_SECONDS = 100.0
_libc = ctypes.CDLL(None, use_errno=True)


def apart(function: str, *arguments: Any) -> Any:
    """Call `module:name` with these in a world of its own; what it returned, which is told as JSON.

    A fork, because a new interpreter takes longer than most of what happens there.
    """
    _require("mount", "umount")
    sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(action="ignore"):
        output, answer = Path(folder, "output"), Path(folder, "answer")
        child = os.fork()
        if child == 0:
            _live_apart(function, arguments, output, answer)
        status = _end_of(child)
        told = output.read_text(errors="replace") if output.exists() else ""
        assert status == 0, f"{function}{arguments} ended with {status}:\n{told[-12_000:]}"
        found = json.loads(answer.read_text())
    if isinstance(found, dict) and "unable" in found:
        raise Unable(found["unable"])
    return found


def _end_of(child: int) -> int:
    """How a world ended; one that does not is ended, with everything in it."""
    try:
        eventually(lambda: os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG), _SECONDS)
    except AssertionError:
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _live_apart(function: str, arguments: tuple[Any, ...], output: Path, answer: Path) -> NoReturn:
    """In the child: the first process of a new world does it. When that ends, so does all that it has started."""
    status = 1
    try:
        _end_with_parent()
        _check(_libc.unshare(_NEW_MOUNTS | _NEW_PROCESSES))
        first = os.fork()
        if first == 0:
            _end_with_parent()
            _speak_into(output)
            run("mount", "--make-rprivate", "/")
            run("mount", "-t", "proc", "proc", "/proc")
            answer.write_text(json.dumps(_found_out(function, arguments)))
            status = 0
        else:
            status = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(abs(status))


def _found_out(function: str, arguments: tuple[Any, ...]) -> Any:
    module, _, name = function.partition(":")
    try:
        return getattr(importlib.import_module(module), name)(*arguments)
    except Unable as reason:
        return {"unable": str(reason)}


def _end_with_parent() -> None:
    _check(_libc.prctl(_DEATH_SIGNAL, signal.SIGKILL))
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _speak_into(output: Path) -> None:
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    sys.stdout = sys.stderr = open(descriptor, "w", buffering=1, errors="replace")  # noqa: SIM115 - until the end


def _check(result: int) -> None:
    if result:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def _require(*programs: str) -> None:
    if sys.platform != "linux":
        raise Unable("file systems are mounted as Linux does it")
    if os.geteuid() != 0:
        raise Unable("only root may mount file systems")
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        raise Unable(f"not on this machine: {', '.join(missing)}")


def run(*command: object) -> None:
    """A command that must succeed."""
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"


def tmpfs(at: Path, size: int, inodes: int = 0) -> Path:
    """A small disk in memory; 0 inodes are as many as fit."""
    at.mkdir(parents=True, exist_ok=True)
    run("mount", "-t", "tmpfs", "-o", f"size={size},nr_inodes={inodes},mode=0700", "none", at)
    return at


def remount(at: Path, options: str) -> None:
    """Mount again where it is, with other options such as `ro`."""
    run("mount", "-o", f"remount,{options}", at)


def unmount(at: Path) -> None:
    """Take a file system away as soon as nobody uses it."""
    eventually(
        lambda: subprocess.run(["umount", at], capture_output=True).returncode == 0, why=f"{at} stays in use"
    )


def fill(ballast: Path, left: int) -> None:
    """Let a file take all room but so much."""
    with open(ballast, "ab", buffering=0) as file:
        room = os.statvfs(ballast.parent)
        with contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, max(1, room.f_bavail * room.f_bsize - left))
        while not left:
            try:
                file.seek(0, os.SEEK_END)
                file.write(b"\0" * 4096)
            except OSError:
                return


class Disk:
    """An ext4 file system in an image file, which can lose its power."""

    def __init__(self, image: Path, at: Path, *features: str) -> None:
        _require("mkfs.ext4", "e2fsck")
        self._image, self.at = image, at
        at.mkdir()
        with open(image, "wb") as file:
            file.truncate(96 * 1024 * 1024)
        run("mkfs.ext4", "-q", "-F", "-b", "4096", *features, image)
        self.mount()

    def mount(self) -> None:
        """Also replays the journal. Nothing is written before its time, and a rename saves nobody from an fsync."""
        options = "loop,commit=600,noauto_da_alloc"
        done = subprocess.run(["mount", "-o", options, self._image, self.at], capture_output=True, text=True)
        if done.returncode:
            raise Unable(f"such a disk can't be mounted here: {done.stderr.splitlines()[0]}")

    def cut(self, how: int = DROP) -> None:
        """From now on nothing reaches the disk any more, as when its power is cut."""
        descriptor = os.open(self.at, os.O_RDONLY)
        try:
            fcntl.ioctl(descriptor, _GOING_DOWN, struct.pack("I", how))
        finally:
            os.close(descriptor)

    def come_back(self) -> None:
        """As when the machine is started again; nobody may have a file of it open."""
        unmount(self.at)
        self.mount()

    def check(self) -> None:
        """The file system itself is sound; it is unmounted for that."""
        unmount(self.at)
        run("e2fsck", "-fn", self._image)
