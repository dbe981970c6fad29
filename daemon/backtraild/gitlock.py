"""Is git at work in the repository that a folder belongs to? Only looked at, never touched."""

import os
import stat

_LOCK = "index.lock"
_POINTER = "gitdir:"
_POINTER_SIZE = 4096


def is_held(root: str) -> bool:
    """Does git hold the lock of its index: in the middle of a checkout, a merge, a commit?"""
    folder = _repository(root)
    return folder is not None and os.path.lexists(os.path.join(folder, _LOCK))


class GitWatch:
    """Remembers since when git has been at work in a folder."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._since: float | None = None

    def busy_since(self, now: float) -> float | None:
        """When its lock was first seen, if it still is; None if git is not at work."""
        if not is_held(self._root):
            self._since = None
        elif self._since is None:
            self._since = now
        return self._since


def _repository(root: str) -> str | None:
    """The git folder of the working tree that contains a folder."""
    folder = root
    while True:
        dot_git = os.path.join(folder, ".git")
        mode = _mode(dot_git)
        if stat.S_ISDIR(mode):
            return dot_git
        if stat.S_ISREG(mode):
            return _pointed_at(dot_git)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _mode(path: str) -> int:
    """What is there; 0 if it is nothing that can be looked at."""
    try:
        return os.stat(path).st_mode
    except OSError:
        return 0


def _pointed_at(dot_git: str) -> str | None:
    """In a worktree or a submodule, `.git` is a file that says where the folder is."""
    try:
        with open(dot_git, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(_POINTER_SIZE)
    except OSError:
        return None
    if not text.startswith(_POINTER):
        return None
    return os.path.join(os.path.dirname(dot_git), text.removeprefix(_POINTER).strip())
