"""Which folders may become a workspace: no whole home, no system, not Backtrail itself."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from backtrail.errors import RefusedWorkspace, UsageError
from backtraild.model import Limits, is_dot_git

_SYSTEM = (
    "/bin", "/boot", "/dev", "/etc", "/home", "/lib", "/lib32", "/lib64", "/libx32", "/media", "/mnt",
    "/nix", "/opt", "/proc", "/root", "/run", "/sbin", "/snap", "/srv", "/sys", "/tmp", "/usr",  # noqa: S108 - named to be refused
    "/usr/local", "/var", "/var/lib", "/var/tmp", "/Applications", "/Library", "/System", "/Users",  # noqa: S108
    "/Volumes", "/private",
)  # fmt: skip
# The kernel makes these up as they are read: there is nothing below them to keep.
_KERNEL = ("/dev", "/proc", "/sys")
_PERSONAL = (
    "Applications", "Desktop", "Documents", "Downloads", "Library", "Movies", "Music", "Pictures",
    "Public", "Templates", "Videos", "snap", ".cache", ".config", ".gnupg", ".local", ".local/share",
    ".local/state", ".mozilla", ".ssh", ".Trash", ".var",
)  # fmt: skip
_USER_DIRS = ".config/user-dirs.dirs"
_USER_DIR = r'(?am)^\s*XDG_\w+_DIR="(\$HOME/|/)([^"\n]*)"'
_USER_DIRS_READ = 64 * 1024

_CHOOSE_PROJECT = "Choose one folder that you work in, such as ~/Documents/project."
_STORE_ELSEWHERE = "Choose a folder that is neither inside nor around anything watched."
_MAKE_ROOM = (
    "Leave out what need not be kept with --exclude PATTERN or a .backtrailignore file, choose a smaller "
    "folder, or pass --force to watch all of it."
)


def check_root(path: str, *, home: str, own_folders: Sequence[str]) -> str:
    """The real path of a folder that may be watched; raises RefusedWorkspace for every other.

    Symlinks are resolved first, and folders are recognised by what they are rather than by how they are
    spelled: `~/documents` on a disk that ignores case, or a bind mount of home, is refused all the same.
    """
    root = _real_folder(path)
    if root == "/":
        raise RefusedWorkspace("The whole file system cannot be a workspace.", _CHOOSE_PROJECT)
    if os.path.isabs(home):
        _check_home(root, os.path.realpath(home))
    _check_system(root)
    _check_own(root, own_folders)
    _check_repository(root)
    return root


def check_store(path: str, *, root: str, watched: Iterable[str]) -> str:
    """The real path of a folder that may hold the store of a workspace; raises UsageError for every other."""
    try:
        if not os.path.isabs(path):
            raise UsageError(f"The store {path!r} is not an absolute path.", "Give the folder's full path.")
        store = os.path.realpath(path)
    except ValueError as error:  # a NUL byte, or text that no file name can be
        raise UsageError(f"No folder can be called {path!r}.") from error
    for folder in (root, *watched):
        if _same(store, folder) or _inside(store, folder):
            raise UsageError(
                f"The store {path!r} lies inside the watched folder {folder!r}, which would capture it.",
                _STORE_ELSEWHERE,
            )
    if _inside(root, store):
        raise UsageError(f"The watched folder {root!r} lies inside the store {path!r}.", _STORE_ELSEWHERE)
    return store


def check_size(files: int, size: int, limits: Limits, force: bool) -> None:
    """Refuse a folder that holds far more than a project, unless whoever asked insists."""
    if force or (files <= limits.max_files and size <= limits.max_bytes):
        return
    raise RefusedWorkspace(
        f"The folder holds {files:,} files with {_gibibytes(size)}; "
        f"the limits are {limits.max_files:,} files and {_gibibytes(limits.max_bytes)}.",
        _MAKE_ROOM,
    )


def _real_folder(path: str) -> str:
    try:
        if not os.path.isabs(path):
            raise RefusedWorkspace(f"{path!r} is not an absolute path.", "Give the folder's full path.")
        root = os.path.realpath(path)
        if os.path.isdir(root):
            return root
        exists = os.path.lexists(root)
    except ValueError:  # a NUL byte, or text that no file name can be
        exists = False
    if exists:
        raise RefusedWorkspace(
            f"{path!r} is not a folder.", "Backtrail watches folders, with all that is in them."
        )
    raise RefusedWorkspace(f"There is no folder {path!r}.", "Create it first, or check the spelling.")


def _check_system(root: str) -> None:
    for folder in _SYSTEM:
        if _same(root, folder):
            raise RefusedWorkspace(f"{root!r} belongs to the system.", _CHOOSE_PROJECT)
    for folder in _KERNEL:
        if _inside(root, folder):
            raise RefusedWorkspace(f"{root!r} is not on a disk, but made up by the kernel.", _CHOOSE_PROJECT)


def _check_home(root: str, home: str) -> None:
    if _same(root, home):
        raise RefusedWorkspace(f"{root!r} is your whole home folder.", _CHOOSE_PROJECT)
    if any(_same(root, folder) for folder in _ancestors(home)):
        raise RefusedWorkspace(f"{root!r} contains your home folder.", _CHOOSE_PROJECT)
    for folder in _personal_folders(home):
        if _same(root, folder):
            raise RefusedWorkspace(
                f"{root!r} is a folder that many programs share.",
                f"Choose one folder in it, such as {os.path.join(root, 'project')!r}.",
            )


def _check_own(root: str, own_folders: Sequence[str]) -> None:
    """A store inside its own workspace would capture itself, and grow with every checkpoint of itself."""
    for folder in map(os.path.realpath, own_folders):
        if _same(root, folder) or _inside(root, folder):
            raise RefusedWorkspace(f"{root!r} belongs to Backtrail itself.", _CHOOSE_PROJECT)
        if any(_same(root, ancestor) for ancestor in _ancestors(folder)):
            raise RefusedWorkspace(
                f"{root!r} contains Backtrail's own folder {folder!r}.",
                "Choose a folder that does not contain it, or set BACKTRAIL_HOME to a folder elsewhere.",
            )


def _check_repository(root: str) -> None:
    if any(is_dot_git(os.fsencode(name)) for name in root.split("/")):
        raise RefusedWorkspace(
            f"{root!r} is inside a repository's .git folder, which git alone may change.",
            "Choose the folder that contains .git.",
        )


def _personal_folders(home: str) -> Iterator[str]:
    for name in _PERSONAL:
        yield os.path.join(home, name)
    try:
        with open(os.path.join(home, _USER_DIRS), encoding="utf-8", errors="surrogateescape") as file:
            text = file.read(_USER_DIRS_READ)
    except OSError:  # most machines without a desktop have none
        return
    for base, rest in re.findall(_USER_DIR, text):
        yield os.path.join(home if base == "$HOME/" else "/", rest)


def _ancestors(path: str) -> Iterator[str]:
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


def _inside(path: str, folder: str) -> bool:
    return any(_same(ancestor, folder) for ancestor in _ancestors(path))


def _same(one: str, two: str) -> bool:
    """Are these one folder, whatever its names? One that does not exist is only equal to itself."""
    if one == two:
        return True
    try:
        return os.path.samefile(one, two)
    except (OSError, ValueError):
        return False


def _gibibytes(size: int) -> str:
    return f"{size / 1024**3:,.1f} GiB"
