"""The machine that is measured on, without any name of it, and how busy it is with other things."""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 10**6


def described(folder: Path) -> str:
    """Cores, memory, kernel, and the kind of file system that holds a folder."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    kernel = platform.release().partition("-")[0]  # without what its builder calls it
    return (
        f"{os.cpu_count()} cores, {memory:.1f} GB of memory, {platform.system()} {kernel} {platform.machine()}, "
        f"{_file_system(folder)}; Python {platform.python_version()}"
    )


def load() -> float:
    """How many processes wanted to run, on average over the last minute."""
    return round(os.getloadavg()[0], 2)


@dataclass(frozen=True, slots=True)
class Processors:
    """How long they have run, and how long others on the same host ran in their place, in ticks since the start."""

    all: int
    stolen: int

    @staticmethod
    def now() -> "Processors":
        """As the kernel counts it."""
        ticks = [int(number) for number in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
        idle, stolen = ticks[3] + ticks[4], ticks[7]
        return Processors(sum(ticks[:8]) - idle, stolen)

    def taken_since(self, before: "Processors") -> float:
        """The part of what was wanted of them that others got."""
        wanted = self.all - before.all
        return (self.stolen - before.stolen) / wanted if wanted else 0.0


@dataclass(frozen=True, slots=True)
class Memory:
    """What a process takes of the memory now, and what it took at most so far, in bytes."""

    resident: int
    peak: int

    @staticmethod
    def of(pid: int) -> "Memory":
        """As the kernel counts it."""
        told = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
        return Memory(*(int(told[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")))


def has_loaded(pid: int, library: str) -> bool:
    """Has a process a library in memory?"""
    return library in Path(f"/proc/{pid}/maps").read_text()


def processor_seconds(pid: int) -> float:
    """How long all threads of a process have run."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


def wake_ups(pid: int) -> dict[str, int]:
    """How often each thread of a process has gone to sleep."""
    return {task.name: _switches(task / "status") for task in Path(f"/proc/{pid}/task").iterdir()}


def _switches(status: Path) -> int:
    lines = status.read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def disk_bytes(folder: Path) -> int:
    """What a folder takes on the disk: whole blocks, as a disk gives them out."""
    total = 0
    for inside, _, names in os.walk(folder):
        total += sum(_blocks(os.path.join(inside, name)) for name in names)
    return total


def _blocks(path: str) -> int:
    try:
        return os.lstat(path).st_blocks * 512
    except FileNotFoundError:  # a daemon that is at work has put it elsewhere
        return 0


def _file_system(folder: Path) -> str:
    device = os.stat(folder).st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
        if line.split()[2] == number:
            kind = line.partition(" - ")[2].split()[0]
            return kind if kind != "ext4" or _has_journal(number) else "ext4 without a journal"
    return "a file system that is not known"


def _has_journal(number: str) -> bool:
    """Without one, ext4 syncs less, and is slow to give out what it got back in the last minutes."""
    device = Path(f"/sys/dev/block/{number}").resolve().name
    return any(Path("/proc/fs/jbd2").glob(f"{device}-*"))
