"""Other processes that work in a folder while it is watched."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_TESTS = Path(__file__).parent.parent

# Each line is a number of edits to make; the answer is a line when they are made. Others are at work in the
# same folder, so an edit may find that what it wanted to change is gone.
_WRITER = """
import contextlib, pathlib, random, sys
from support.edits import Editor
editor = Editor(pathlib.Path(sys.argv[1]), random.Random(int(sys.argv[2])))
for line in sys.stdin:
    for _ in range(int(line)):
        with contextlib.suppress(OSError):
            editor.edit()
    print("done", flush=True)
"""


class Writers:
    """Several processes that make random edits at the same time."""

    def __init__(self, root: Path, seed: int, count: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(_TESTS)}
        self._processes = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, str(root), str(seed + number)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment,
            )
            for number in range(count)
        ]
        self.steps = 0

    def begin(self, edits: int) -> None:
        """Let each of them make so many edits."""
        for process in self._processes:
            assert process.stdin
            process.stdin.write(f"{edits}\n")
            process.stdin.flush()
            self.steps += edits

    def finish(self) -> None:
        """Wait until all have made them."""
        for process in self._processes:
            assert process.stdout
            assert process.stdout.readline() == "done\n"

    def close(self) -> None:
        """End them."""
        for process in self._processes:
            process.communicate()


@contextlib.contextmanager
def writers(root: Path, seed: int, count: int = 3) -> Iterator[Writers]:
    """Processes for the time of a test."""
    found = Writers(root, seed, count)
    try:
        yield found
    finally:
        found.close()
