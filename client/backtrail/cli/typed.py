"""What people type, as the daemon wants it: workspaces, paths, names of checkpoints. Bytes that are not UTF-8 live."""

import os
import re
from collections.abc import Sequence

from backtrail.errors import UsageError, WorkspaceUnavailable
from backtrail.pathtext import from_text, to_text

# As in `project-0a1b2c3d4e`.
_WORKSPACE_ID = r"[a-z0-9-]+-[0-9a-f]{10}"
# A colon inside `@{14:03}` belongs to the time.
_NAME = r"(?s)(@\{[^}]*\}|(?!@\{)[^:]*)(?::(.*))?"


def text(word: str) -> str:
    """A message or the like; what is not UTF-8 in it is replaced."""
    return word.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def absolute(path: str) -> str:
    """A path seen from the current folder, with `~` of a shell that left it."""
    return to_text(os.fsencode(os.path.normpath(os.path.join(current_folder(), os.path.expanduser(path)))))


def current_folder() -> str:
    """The folder that the command was called in, which may have been deleted."""
    try:
        return os.getcwd()
    except OSError as error:
        raise WorkspaceUnavailable(
            f"The current folder can't be found: {error.strerror}.", "`cd` to a folder that exists."
        ) from error


def workspace(given: str | None) -> str:
    """What `-w` names: an id, or a path; the current folder where nothing was given."""
    if given is None:
        return absolute("")
    if not given:
        raise UsageError("The workspace after -w is empty.", "Give a path in it, or its id.")
    if re.fullmatch(_WORKSPACE_ID, given) and not os.path.lexists(given):
        return given
    return absolute(given)


def remote(word: str) -> str:
    """A repository elsewhere, or one on this machine by its path; git tells them apart in the same way."""
    if not word:
        raise UsageError("The remote is empty.", "Give the path or the address of a git repository.")
    return text(word) if ":" in word.partition("/")[0] else absolute(word)


def paths_in(root: str, paths: Sequence[str]) -> list[str]:
    """Paths below the workspace's root; none where one of them is the root itself, which is everything."""
    found = [path_in(root, path) for path in paths]
    return [] if "." in found else found


def path_in(root: str, path: str) -> str:
    """A path below the workspace's root: relative ones are seen from the current folder if that is in it."""
    top = os.fsdecode(from_text(root))
    here = current_folder()
    wanted = os.path.normpath(os.path.join(here if _below(top, here) is not None else top, path))
    found = _below(top, wanted)
    if found is None:  # perhaps it is written with a symlink in it; its last part may be one that is captured
        folder, name = os.path.split(wanted)
        found = _below(top, os.path.join(os.path.realpath(folder), name))
    if not path or found is None:
        raise UsageError(f"“{text(path)}” is not in the workspace {root}.", "Name a path in it, or give -w.")
    return to_text(os.fsencode(found))


def paths_from_root(path: str) -> list[str]:
    """The path after the colon of a name, which is seen from the root; none where it is the root itself."""
    clean = os.path.normpath(os.fsdecode(from_text(path)))
    if clean.startswith("/") or clean.split("/")[0] == "..":
        raise UsageError(
            f"“{path}” does not name anything in the workspace.",
            "After the colon comes a path relative to the workspace's root, as in 42:src/app.py.",
        )
    return [] if clean == "." else [to_text(os.fsencode(clean))]


def split_name(word: str) -> tuple[str, str | None]:
    """`42:src/app.py` as name and path; the path is None where none is named."""
    match = re.fullmatch(_NAME, word)
    if match is None:  # a brace that is not closed, or something after it: the daemon says what is wrong
        return text(word), None
    path = match[2]
    return text(match[1]), None if path is None else to_text(from_text(path))


def name(word: str) -> str:
    """A checkpoint's name with the path that may be in it."""
    checkpoint, path = split_name(word)
    return checkpoint if path is None else f"{checkpoint}:{path}"


def _below(top: str, path: str) -> str | None:
    """The path relative to the top; `.` for the top itself, None for what is elsewhere."""
    if path == top:
        return "."
    start = top.rstrip("/") + "/"
    return path[len(start) :] if path.startswith(start) else None
