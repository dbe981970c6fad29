"""An empty folder to write a checkpoint into: made where there is none, removed where it is not wanted after all."""

import os
from collections.abc import Sequence
from contextlib import suppress

from backtrail.errors import RefusedWorkspace
from backtraild.restore.calls import OS, Calls

_CHOOSE_ANOTHER = "Give the path of a folder that does not exist yet, or of an empty one."


class Ground:
    """A folder that is empty. Raises RefusedWorkspace for any that is not, and where none can be made."""

    def __init__(self, path: str, mode: int, calls: Calls = OS) -> None:
        """Find or make it; whoever makes it says who may enter."""
        self._calls = calls
        self.made: list[str] = []  # the folders that were not there, outermost first
        self.path = _real(path)
        try:
            self._make(mode)
            names = os.listdir(self.path)
        except OSError as error:
            self.give_back()
            raise RefusedWorkspace(
                f"{path!r} can't be made a folder to write into: {error.strerror}.", _CHOOSE_ANOTHER
            ) from error
        if names:
            raise RefusedWorkspace(
                f"The folder {path!r} is not empty: it holds {names[0]!r}, for one.", _CHOOSE_ANOTHER
            )

    def give_back(self) -> None:
        """Remove the folders that were made for it, as far as they are empty again."""
        give_back(self.made, self._calls)
        self.made.clear()

    def _make(self, mode: int) -> None:
        missing, folder = [], self.path
        while not os.path.lexists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            self._calls.mkdir(folder)
            self.made.append(folder)
        if missing:
            descriptor = self._calls.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._calls.fchmod(descriptor, mode)
            finally:
                self._calls.close(descriptor)


def give_back(folders: Sequence[str], calls: Calls = OS) -> None:
    """Remove folders, the innermost of which comes last, as far as they are empty."""
    with suppress(OSError):  # somebody uses them by now
        for folder in reversed(folders):
            calls.rmdir(folder)


def _real(path: str) -> str:
    try:
        if os.path.isabs(path):
            return os.path.realpath(path)
    except ValueError as error:  # a NUL byte, or text that no file name can be
        raise RefusedWorkspace(f"No folder can be called {path!r}.", _CHOOSE_ANOTHER) from error
    raise RefusedWorkspace(f"{path!r} is not an absolute path.", "Give the folder's full path.")
