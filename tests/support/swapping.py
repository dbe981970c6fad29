"""A process that keeps exchanging folders for symlinks that lead elsewhere, as fast as the kernel lets it."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from support.watching import eventually

# A program of its own: a thread would wait for the interpreter whenever the other side is at work.
_SWAP = """
import ctypes, os, random, sys
seed, report, aside, *rest = sys.argv[1:]
places, targets = rest[:rest.index("--")], rest[rest.index("--") + 1:]
source, swaps = random.Random(int(seed)), 0
rename = ctypes.CDLL(None).renameat2
rename.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
links = []
for number, place in enumerate(places):
    os.symlink(targets[number % len(targets)], f"{aside}/{number}")
    links.append((os.fsencode(place), os.fsencode(f"{aside}/{number}")))
while os.getppid() > 1:
    for _ in range(200):
        place, link = source.choice(links)
        swaps += rename(-100, place, -100, link, 2) == 0  # both at once: neither name is ever missing
    with open(report + ".new", "w") as file:
        file.write(str(swaps))
    os.rename(report + ".new", report)
"""


class Swapper:
    """Knows how often it has exchanged something."""

    def __init__(self, report: Path) -> None:
        self._report = report

    @property
    def swaps(self) -> int:
        """How many exchanges there were so far."""
        return int(self._report.read_text()) if self._report.exists() else 0


@contextlib.contextmanager
def swapping(folder: Path, seed: int, places: Sequence[Path], targets: Sequence[Path]) -> Iterator[Swapper]:
    """In this block the places are exchanged for links to the targets and back, in a random order.

    Those that do not exist yet are exchanged as soon as they do.
    """
    aside, report = folder / "aside", folder / "swaps"
    aside.mkdir()
    named = [*map(str, places), "--", *map(str, targets)]
    process = subprocess.Popen([sys.executable, "-c", _SWAP, str(seed), str(report), str(aside), *named])
    swapper = Swapper(report)
    try:
        eventually(lambda: report.exists() or process.poll() is not None)
        yield swapper
        assert process.poll() is None, "the swapper ended before its time"
    finally:
        process.kill()
        process.wait()
