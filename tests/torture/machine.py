"""The machine and the versions that a table of results was made with, without any name of it."""

import os
import platform
import sqlite3
import subprocess
import tempfile
from pathlib import Path

import pygit2
import zmq


def described() -> str:
    """One sentence for people."""
    return (
        f"{os.cpu_count()} cores, {_memory()}, {platform.system()} {_kernel()} {platform.machine()},"
        f" {_file_system()}; Python {platform.python_version()}, libgit2 {pygit2.LIBGIT2_VERSION},"
        f" ZeroMQ {zmq.zmq_version()}, SQLite {sqlite3.sqlite_version}, {_said('git', '--version')}."
    )


def version() -> str:
    """Which state of this project's files it is."""
    return _said("git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty")


def _kernel() -> str:
    """Its version, without what its builder calls it."""
    return platform.release().partition("-")[0]


def _memory() -> str:
    size = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{size / 2**30:.1f} GB of memory"


def _file_system() -> str:
    """The kind of file system that holds temporary folders."""
    device = os.stat(tempfile.gettempdir()).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    table = Path("/proc/self/mountinfo")
    for line in table.read_text(errors="replace").splitlines() if table.exists() else ():
        if line.split()[2] == number:
            return line.partition(" - ")[2].split()[0]
    return "a file system that is not known"


def _said(*command: str) -> str:
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return f"no {command[0]}"
