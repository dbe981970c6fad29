"""Where the old files of a restore go, so that nobody waits for their unlinking: a folder that is swept later.

Unlinking ten thousand files that were synced takes seconds; moving them takes a twentieth of that.
"""

import contextlib
import secrets

from backtraild.restore.calls import OPEN_FOLDER, Calls


class Trash:
    """A folder outside of the workspace. Where it is on another disk, or there is none, files are unlinked."""

    def __init__(self, calls: Calls, path: str | None) -> None:
        self._calls = calls
        self._path = path
        self._fd = -1

    def drop(self, name: bytes, folder: int) -> None:
        """Take a file out of a folder, for good. Raises FileNotFoundError if it is not there."""
        try:
            self._calls.rename(name, secrets.token_hex(8), src_dir_fd=folder, dst_dir_fd=self._opened())
        except OSError:
            self._path = None  # it will not work for the next one either
            self._calls.unlink(name, dir_fd=folder)

    def close(self) -> None:
        """No more files come."""
        if self._fd >= 0:
            self._calls.close(self._fd)
            self._fd = -1

    def _opened(self) -> int:
        if self._path is None:
            raise NotADirectoryError
        if self._fd < 0:
            with contextlib.suppress(FileExistsError):
                self._calls.mkdir(self._path, 0o700)
            self._fd = self._calls.open(self._path, OPEN_FOLDER)
        return self._fd
