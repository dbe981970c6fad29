"""One daemon per user: the lock that it holds."""

import contextlib
import fcntl
import os
from typing import Self

from backtrail.errors import BacktrailError
from backtrail.paths import Places


class AlreadyRunning(BacktrailError):
    """Another daemon works on the same data."""

    code = "already-running"


class Lock:
    """Held as long as the process lives, however it ends: the kernel lets go of it."""

    def __init__(self, where: Places) -> None:
        self._path = where.lock
        self._descriptor = -1

    def __enter__(self) -> Self:
        self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(self._descriptor, 32).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise AlreadyRunning(
                f"Another Backtrail daemon is running (process {owner or 'unknown'}).",
                "One is enough: it watches all folders. Stop it first if it shall be replaced.",
            ) from error
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, b"%d\n" % os.getpid())
        return self

    def is_on_disk(self) -> bool:
        """Is the file that is held the one that others would find?"""
        with contextlib.suppress(FileNotFoundError):
            return os.path.samestat(os.stat(self._path), os.fstat(self._descriptor))
        return False

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
