"""restic, a backup program: its snapshots and restores of a whole folder."""

import shutil
from pathlib import Path

from bench.peers.peer import Kind, Opener, Peer, run, version_of


class Restic(Peer):
    """A repository without a cache elsewhere; a restore goes into an empty folder, as it writes every file."""

    snapshot_is = "restic backup"
    restore_is = "restic restore of everything, elsewhere"
    restores_in_place = False

    def __init__(self, root: Path, store: Path) -> None:
        super().__init__(root, store)
        self._target = store.with_name(store.name + ".restored")
        self._cache = store.with_name(store.name + ".cache")
        self._run("init")

    def snapshot(self) -> None:
        self._run("backup", ".")

    def restore(self) -> None:
        shutil.rmtree(self._target, ignore_errors=True)
        self._run("restore", "latest", "--target", str(self._target))

    def close(self) -> None:
        super().close()
        for folder in (self._target, self._cache):
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, *arguments: str) -> None:
        environment = {
            "RESTIC_REPOSITORY": str(self.store),
            "RESTIC_PASSWORD": "bench",
            "RESTIC_CACHE_DIR": str(self._cache),
        }
        run(["restic", *arguments, "--quiet"], self.root, environment)


def _find(_: Path) -> Opener:
    return Opener(version_of("restic", "version", package="restic").partition(" compiled")[0], Restic)


RESTIC = Kind("restic", _find)
