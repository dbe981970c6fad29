"""The CheckpointService of the PyPI package praisonaiagents, in a virtual environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

from bench.peers.peer import Absent, Kind, Opener, Peer, PeerFailed

PACKAGE = "praisonaiagents"
INSTALL_SECONDS = 180.0

# Runs in the environment that has the package: a line in, a line out when it is done.
_PROGRAM = """
import asyncio, sys
from praisonaiagents.checkpoints import CheckpointService

async def main():
    service = CheckpointService(workspace_dir=sys.argv[1], storage_dir=sys.argv[2])
    print("ready" if await service.initialize() else "it does not initialize", flush=True)
    newest = None
    for line in sys.stdin:
        if line.strip() == "save":
            done = await service.save("bench", allow_empty=True)
            newest = done.checkpoint.id if done.success else newest
        else:
            done = await service.restore(newest)
        print("done" if done.success else " ".join(str(done.error).split()), flush=True)

asyncio.run(main())
"""
# It fails where the service can't do without something that the package depends on.
_VERSION = (
    "from importlib.metadata import version; from praisonaiagents.checkpoints import CheckpointService;"
    f"print(version({PACKAGE!r}))"
)


class Praison(Peer):
    """A process that has the service open, as an agent has: its start is not charged."""

    snapshot_is = f"{PACKAGE}: CheckpointService.save"
    restore_is = f"{PACKAGE}: CheckpointService.restore"

    def __init__(self, python: Path, root: Path, store: Path) -> None:
        super().__init__(root, store)
        store.mkdir()
        self._process = subprocess.Popen(
            [python, "-c", _PROGRAM, root, store],
            env={**os.environ, "HOME": str(store)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._expect("ready")

    def snapshot(self) -> None:
        self._ask("save")

    def restore(self) -> None:
        self._ask("restore")

    def close(self) -> None:
        self._process.communicate()
        super().close()

    def _ask(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(word + "\n")
        self._process.stdin.flush()
        self._expect("done")

    def _expect(self, word: str) -> None:
        assert self._process.stdout is not None
        said = self._process.stdout.readline().strip()
        if said != word:
            raise PeerFailed(f"{PACKAGE}: {said or 'it ended'}")


def _find(folder: Path) -> Opener:
    python = folder / PACKAGE / "bin" / "python"
    try:
        _call(sys.executable, "-m", "venv", str(folder / PACKAGE))
        _call(str(python), "-m", "pip", "install", "--quiet", "--no-deps", PACKAGE)
        found = _call(str(python), "-c", _VERSION)
    except (OSError, subprocess.SubprocessError) as error:
        raise Absent(f"`pip install --no-deps {PACKAGE}` did not work here") from error
    return Opener(f"{PACKAGE} {found}", lambda root, store: Praison(python, root, store))


def _call(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=INSTALL_SECONDS)
    return done.stdout.strip()


PRAISON = Kind("praisonaiagents", _find)
