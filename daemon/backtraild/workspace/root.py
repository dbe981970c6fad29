"""Is the folder that is looked at still the workspace?"""

import os

from backtrail.errors import WorkspaceUnavailable
from backtrail.pathtext import to_text
from backtraild.state import Database, StatTable

_ROOT = "root"


class Root:
    """The folder as it was seen last: which one it was, whatever its path leads to now."""

    def __init__(self, path: bytes, database: Database, table: StatTable) -> None:
        self._path = path
        self._database = database
        self._table = table

    def check(self) -> str:
        """Which folder is there now, if it can be the workspace.

        Raises WorkspaceUnavailable, so that nothing is recorded as deleted, for what says nothing about the
        files: no folder, an empty one (which an unmounted disk leaves behind), one of another disk that has
        no name in common with the workspace. Another folder of the same disk was put there by somebody.
        """
        try:
            status = os.stat(self._path)
            identity = f"{status.st_dev}:{status.st_ino}"
            names = set() if self.is_known(identity) else set(os.listdir(self._path))
        except OSError as error:
            raise WorkspaceUnavailable(
                f"The workspace's folder {to_text(self._path)} can't be looked at: {error.strerror}.",
                "Nothing is recorded as deleted; it is captured again when it is back.",
            ) from error
        known = self._known()
        if known not in (None, identity):
            self._check_replacement(str(known), identity, names)
        return identity

    def is_known(self, identity: str) -> bool:
        """Is it the folder that was looked at last time?"""
        return self._known() == identity

    def remember(self, identity: str) -> None:
        """This folder has been looked at."""
        if not self.is_known(identity):
            self._database.remember(_ROOT, identity)

    def adopt(self) -> None:
        """Take whatever folder is there for the workspace: its owner says so."""
        self._database.forget(_ROOT)

    def _known(self) -> str | None:
        return self._database.fact(_ROOT)

    def _check_replacement(self, known: str, identity: str, names: set[bytes]) -> None:
        place = to_text(self._path)
        if not names:
            raise WorkspaceUnavailable(
                f"An empty folder has taken the place of {place}; is a disk not mounted?",
                "Nothing is recorded as deleted. If it shall be empty, watch it again, or put a file into it.",
            )
        (old_device, old_inode), (device, inode) = known.split(":"), identity.split(":")
        # Device numbers may change when the machine starts; then the inode is the same.
        if device != old_device and inode != old_inode and names.isdisjoint(self._captured_names()):
            raise WorkspaceUnavailable(
                f"A folder of another disk has taken the place of {place}.",
                "Nothing is recorded as deleted. If this is the workspace from now on, watch it again.",
            )

    def _captured_names(self) -> set[bytes]:
        """What is captured directly in the root."""
        folders = {folder.split(b"/", 1)[0] for folder in self._table.folders_below(b"") if folder}
        return folders | self._table.folder(b"").keys()
