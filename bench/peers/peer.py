"""What every peer can do, and how it is run."""

import os
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import disk_bytes

_LAST_WORDS = 200


class Absent(Exception):
    """A peer can't be had here; the text says why and how to get it."""


class PeerFailed(Exception):
    """A peer did not do what it was asked; the text is what it said."""


class Peer(ABC):
    """One folder and a store for its states elsewhere."""

    snapshot_is = ""
    restore_is = ""
    restores_in_place = True  # otherwise into an empty folder, because it writes every file

    def __init__(self, root: Path, store: Path) -> None:
        self.root = root
        self.store = store

    @abstractmethod
    def snapshot(self) -> None:
        """Record the folder as it is."""

    @abstractmethod
    def restore(self) -> None:
        """Bring back what was recorded last."""

    def size(self) -> int:
        """What the store takes on the disk."""
        return disk_bytes(self.store)

    def close(self) -> None:
        """Remove the store, and end what was started."""
        shutil.rmtree(self.store, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class Opener:
    """A peer that can be had: which version of it, and how to put a folder into its care."""

    version: str
    open: Callable[[Path, Path], Peer]


@dataclass(frozen=True, slots=True)
class Kind:
    """A peer by name. `find` may install what is missing into a folder, and raises Absent where it can't."""

    name: str
    find: Callable[[Path], Opener]


def run(command: Sequence[str], cwd: Path, environment: Mapping[str, str], feed: bytes = b"") -> bytes:
    """What a program of a peer printed; PeerFailed if it failed."""
    settings = {**os.environ, **environment}
    done = subprocess.run(command, cwd=cwd, env=settings, input=feed, capture_output=True)
    if done.returncode:
        words = done.stderr.decode(errors="replace").strip()[-_LAST_WORDS:]
        raise PeerFailed(f"{' '.join(command[:2])} ended with status {done.returncode}: {words}")
    return done.stdout


def version_of(program: str, *arguments: str, package: str) -> str:
    """What a program says of itself; Absent where there is none."""
    if shutil.which(program) is None:
        raise Absent(f"not installed; `apt-get install {package}` installs it")
    return run([program, *arguments], Path.cwd(), {}).decode().splitlines()[0].strip()
