"""What a process takes of the machine, and whether that is back to what it was."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MEGABYTE = 1024 * 1024
# SQLite closes a file only when nobody in the process holds a lock on it any more; until then the next reader gets it.
SLACK = {"descriptors": 3, "threads": 0, "children": 0}


@dataclass(frozen=True, slots=True)
class Vitals:
    """A process at one moment. Packs and indexes that a store keeps open are not counted: it has limits for them."""

    memory: int
    descriptors: int
    threads: int
    children: int

    @staticmethod
    def of(pid: int) -> "Vitals":
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
        return Vitals(
            memory=pages * os.sysconf("SC_PAGE_SIZE"),
            descriptors=sum(not target.endswith((".pack", ".idx")) for target in descriptors(pid)),
            threads=len(os.listdir(f"/proc/{pid}/task")),
            children=sum(1 for _ in children(pid)),
        )

    def excess(self, before: "Vitals", memory: int) -> list[str]:
        """What there is more of than before, in sentences; memory may have grown by so many bytes."""
        found = [
            f"{name} went from {getattr(before, name)} to {getattr(self, name)}"
            for name, slack in SLACK.items()
            if getattr(self, name) > getattr(before, name) + slack
        ]
        if self.memory - before.memory >= memory:
            found.append(f"memory grew by {(self.memory - before.memory) / MEGABYTE:.1f} MB")
        return found


def has_loaded_all(pid: int) -> bool:
    """Has a daemon loaded what its start leaves out? Before that it grows, and works, by itself."""
    return "libgit2" in Path(f"/proc/{pid}/maps").read_text()


def descriptors(pid: int) -> Iterator[str]:
    """What a process has open."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            yield str(link.readlink())
        except OSError:  # closed meanwhile
            continue


def children(pid: int) -> Iterator[int]:
    """The processes that a process has started and not buried yet, zombies included."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            yield from map(int, (task / "children").read_text().split())
        except OSError:  # a thread that has ended meanwhile
            continue


def back_to(before: Vitals, pid: int, *, memory: int = 10 * MEGABYTE, seconds: float = 20.0) -> Vitals:
    """The vitals once they are back to what they were; fails, naming what is not, if that does not happen."""
    deadline = time.monotonic() + seconds
    while (excess := (now := Vitals.of(pid)).excess(before, memory)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not excess, f"after {seconds:g} s: {'; '.join(excess)}; open is {sorted(descriptors(pid))}"
    return now


def growth(looks: Sequence[Vitals], memory: int) -> int:
    """So many bytes more are taken in the end than in the beginning; fails from `memory` on, and for open files.

    By the least of the first and of the last third: what is taken for a while is more at one look and less at the next.
    """
    third = len(looks) // 3
    first, last = looks[:third], looks[-third:]
    more = min(look.descriptors for look in last) - min(look.descriptors for look in first)
    assert more <= SLACK["descriptors"], f"descriptors, look by look: {[look.descriptors for look in looks]}"
    grown = min(look.memory for look in last) - min(look.memory for look in first)
    assert grown < memory, f"memory, look by look: {[look.memory // MEGABYTE for look in looks]}"
    return max(0, grown)
