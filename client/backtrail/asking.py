"""What a caller says, as parameters of the protocol: paths, names and times in any form they come in."""

import binascii
import os
import re
from collections.abc import Iterable, Sequence
from datetime import datetime

from backtrail import protocol
from backtrail.errors import UnknownPath, UsageError
from backtrail.pathtext import from_text, to_text
from backtrail.values import Checkpoint, CheckpointConfig, CheckpointSummary, Content

PathLike = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Name = str | int | Checkpoint | CheckpointSummary
Time = str | datetime

_ID = re.compile(r"[a-z0-9-]+-[0-9a-f]{10}")
# Some settings stand for themselves in the request; the patterns may also be given apart.
_SETTINGS = tuple(name for name in CheckpointConfig.__struct_fields__ if name != "exclude_patterns")


def watch(
    path: PathLike,
    config: CheckpointConfig | None,
    exclude_patterns: Sequence[str],
    *,
    force: bool,
    wait: bool,
    store: PathLike | None,
) -> protocol.Watch:
    """The request to watch a folder; without a `config`, the settings are the daemon's."""
    patterns = [*(config.exclude_patterns if config else ()), *exclude_patterns]
    settings = {name: getattr(config, name) for name in _SETTINGS} if config else {}
    return protocol.Watch(
        path=absolute(path),
        force=force,
        wait=wait,
        store=None if store is None else absolute(store),
        exclude_patterns=patterns or None,
        **settings,
    )


def workspace(path_or_id: PathLike) -> str:
    """A workspace as the daemon knows it: its id, or an absolute path in it."""
    if isinstance(path_or_id, str) and _ID.fullmatch(path_or_id):
        return path_or_id
    return absolute(path_or_id)


def absolute(path: PathLike) -> str:
    """A path from the current folder or the home folder, as text."""
    return to_text(os.path.abspath(os.path.expanduser(_bytes(path))))


def remote(given: PathLike) -> str:
    """A repository elsewhere, as git tells it from a path of this machine: by a colon before any slash."""
    is_address = isinstance(given, str) and ":" in given.partition("/")[0]
    return str(given) if is_address else absolute(given)


def name(given: Name) -> str:
    """A checkpoint's name; a checkpoint stands for itself, by its id."""
    return given.id if isinstance(given, Checkpoint | CheckpointSummary) else str(given)


def time(given: Time | None) -> str | None:
    """A time as the daemon reads it; one without a zone is of this machine's."""
    return given.astimezone().isoformat() if isinstance(given, datetime) else given


def inside(root: str, path: PathLike) -> str:
    """A path in a workspace, relative to its root."""
    found = _bytes(path)
    if not os.path.isabs(found):
        return to_text(found)
    top = from_text(root)
    # The root is a real path; the given one may lead there through symbolic links.
    real = os.path.join(os.path.realpath(os.path.dirname(found)), os.path.basename(found))
    for candidate in (os.path.normpath(found), os.path.normpath(real)):
        if candidate == top or candidate.startswith(top.rstrip(b"/") + b"/"):
            return to_text(os.path.relpath(candidate, top))
    raise UsageError(f"{to_text(found)} is not in the workspace {root}.", "Give a path inside it.")


def piece(workspace: str, root: str, checkpoint: Name, path: PathLike | None, offset: int) -> protocol.Read:
    """The request for a file's content from an offset on."""
    return protocol.Read(
        workspace=workspace,
        checkpoint=name(checkpoint),
        path=None if path is None else inside(root, path),
        offset=offset,
    )


def piece_of(content: Content) -> bytes:
    """The bytes of a piece of a file."""
    if content.kind == "folder":
        raise UnknownPath(f"{content.path or 'The root'} is a folder.", "Give the path of a file in it.")
    return binascii.a2b_base64(content.content_base64)


def all_inside(root: str, paths: Iterable[PathLike]) -> list[str]:
    """The same for several. A single string is several letters to Python, and a mistake to people."""
    if isinstance(paths, str | bytes):
        raise UsageError("`paths` takes a list of paths, not one string.", "Write paths=[path].")
    return [inside(root, path) for path in paths]


def _bytes(path: PathLike) -> bytes:
    return from_text(path) if isinstance(path, str) else os.fsencode(path)
