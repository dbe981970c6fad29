"""Borg, a backup program: its archives of a whole folder, and their extraction."""

import shutil
from pathlib import Path

from bench.peers.peer import Kind, Opener, Peer, run, version_of


class Borg(Peer):
    """A repository without encryption; an archive is extracted into an empty folder, as it writes every file."""

    snapshot_is = "borg create"
    restore_is = "borg extract of everything, elsewhere"
    restores_in_place = False

    def __init__(self, root: Path, store: Path) -> None:
        super().__init__(root, store)
        self._target = store.with_name(store.name + ".restored")
        self._private = store.with_name(store.name + ".private")
        self._archives = 0
        self._run(root, "init", "--encryption", "none")

    def snapshot(self) -> None:
        self._archives += 1
        self._run(self.root, "create", f"::{self._archives}", ".")

    def restore(self) -> None:
        shutil.rmtree(self._target, ignore_errors=True)
        self._target.mkdir()
        self._run(self._target, "extract", f"::{self._archives}")

    def close(self) -> None:
        super().close()
        for folder in (self._target, self._private):
            shutil.rmtree(folder, ignore_errors=True)

    def _run(self, where: Path, *arguments: str) -> None:
        environment = {
            "BORG_REPO": str(self.store),
            "BORG_BASE_DIR": str(self._private),
            "BORG_UNKNOWN_UNENCRYPTED_REPO_ACCESS_IS_OK": "yes",
        }
        run(["borg", *arguments], where, environment)


def _find(_: Path) -> Opener:
    return Opener(version_of("borg", "--version", package="borgbackup"), Borg)


BORG = Kind("borg", _find)
