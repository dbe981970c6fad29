"""A little room that is kept back on a disk, so that what gives space back works where there is none left."""

import contextlib
import errno
import os
import shutil
from collections.abc import Callable

# Files as well as bytes, because a disk can also run out of those.
_FILES = 4
_BYTES = 4096
_FULL = (errno.ENOSPC, errno.EDQUOT)


class Spare:
    """A folder of files that hold nothing, until their room is needed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def keep(self, more: int = 0) -> None:
        """Set the room aside, and some more in the first file; where that is not possible now, do without."""
        sizes = [_BYTES + more, *[_BYTES] * (_FILES - 1)]
        with contextlib.suppress(OSError):
            with contextlib.suppress(FileExistsError):
                os.mkdir(self._folder, 0o700)  # never what is above it: its disk may be unmounted just now
            for number, size in enumerate(sizes):
                _occupy(os.path.join(self._folder, str(number)), size)

    def spent_on(self, action: Callable[[], None]) -> None:
        """Do something that gives space back; if there is no room to do it in, with the room that was kept."""
        try:
            action()
        except OSError as error:
            if error.errno not in _FULL or not os.path.isdir(self._folder):
                raise
            self.release()
            action()

    def release(self) -> None:
        """Let the room be used by whoever comes first."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _occupy(path: str, size: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    try:
        missing = size - os.fstat(descriptor).st_size
        if missing > 0:
            os.pwrite(descriptor, b"\0" * missing, size - missing)
    finally:
        os.close(descriptor)
