"""P9: what somebody waits for who types a command."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from bench.clock import seconds
from bench.course import Course
from bench.figure import Figure, at_most_times
from bench.ground import Ground
from bench.sample import sample

BAR = 8
COMMANDS = ("list", "status")
_EMPTY = "pass"


def figures(course: Course) -> Iterator[Figure]:
    """The command itself, as a process, beside an interpreter that does nothing."""
    ground = course.main
    times: dict[str, list[float]] = {name: [] for name in (*COMMANDS, _EMPTY)}
    for _ in range(course.effort.commands):
        for name, measured in times.items():
            measured.append(seconds(partial(_run, ground, _command(name))))
    for name in COMMANDS:
        yield Figure(
            name="P9",
            what=f"`backtrail {name}`, the whole command",
            ours=sample(times[name]),
            peer=sample(times[_EMPTY]),
            peer_is="python3 -c pass",
            bar=at_most_times(BAR),
        )


def _command(name: str) -> list[str]:
    if name == _EMPTY:
        return [sys.executable, "-c", _EMPTY]
    return [str(Path(sysconfig.get_path("scripts")) / "backtrail"), name]


def _run(ground: Ground, command: list[str]) -> None:
    environment = {**os.environ, "BACKTRAIL_HOME": str(ground.ours.home)}
    subprocess.run(command, cwd=ground.root, env=environment, check=True, stdout=subprocess.DEVNULL)
