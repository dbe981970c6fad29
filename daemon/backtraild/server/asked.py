"""What a request asks for, in the daemon's own values; what makes no sense is refused here. Touches no disk."""

import os
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from backtrail import pathtext, protocol
from backtrail.errors import UsageError
from backtraild import naming
from backtraild.model import Intent, Kind, Path
from backtraild.state import Query

# Every list and every event carries them.
MAX_METADATA_BYTES = 64 * 1024

_NO_SETTINGS = ("path", "force", "wait", "store")
_SETTINGS = tuple(name for name in protocol.Watch.__struct_fields__ if name not in _NO_SETTINGS)
_SAVED_KINDS = (Kind.MANUAL, Kind.AGENT)


def intent(params: protocol.Save) -> Intent:
    """Why a checkpoint is wanted."""
    if params.kind not in _SAVED_KINDS:
        raise UsageError(
            f"A checkpoint of kind {params.kind!r} can't be asked for.", "Ask for manual or agent."
        )
    size = len(msgspec.json.encode(params.metadata))
    if size > MAX_METADATA_BYTES:
        raise UsageError(f"`metadata` has {size:,} bytes; {MAX_METADATA_BYTES:,} are allowed.")
    return Intent(
        kind=Kind(params.kind),
        message=params.message,
        session=params.session,
        turn=params.turn,
        metadata=params.metadata,
        request=params.request,
    )


def settings(params: protocol.Watch) -> dict[str, object]:
    """What the owner of a workspace decided; what is not given is left to the defaults."""
    given = {name: getattr(params, name) for name in _SETTINGS}
    return {name: value for name, value in given.items() if value is not None}


def query(params: protocol.List, root: str) -> Query:
    """Which checkpoints are wanted."""
    now = datetime.now(UTC)
    if params.limit < 1:
        raise UsageError(f"A list of {params.limit} checkpoints makes no sense.", "Ask for 1 or more.")
    return Query(
        limit=min(params.limit, protocol.MAX_LIST),
        before=params.cursor,
        since=None if params.since is None else naming.parse_time(params.since, now, last=False),
        until=None if params.until is None else naming.parse_time(params.until, now, last=True),
        kind=None if params.kind is None else _kind(params.kind),
        session=params.session,
        path=None if params.path is None else path(params.path, root) or None,
    )


def named(checkpoint: str, given: str | None, root: str) -> naming.Name:
    """A checkpoint and a path in it, which may be part of the name; `42:` is the root folder."""
    text = checkpoint.strip()
    name = naming.Name(text[:-1], b"") if text.endswith(":") else naming.split(text)
    if given is None:
        return name
    if name.path is not None:
        raise UsageError("The path is given twice: in the checkpoint's name and beside it.")
    return naming.Name(name.checkpoint, path(given, root))


def paths(texts: Sequence[str], root: str) -> tuple[Path, ...]:
    """Some paths of a workspace; none where everything is meant."""
    found = tuple(path(text, root) for text in texts)
    return () if b"" in found else found


def path(text: str, root: str) -> Path:
    """A path relative to the root, given as that or as an absolute one."""
    found = local(text)
    if found.startswith("/"):
        found = _below(os.path.normpath(found), root, text)
    parts = [part for part in os.fsencode(found).split(b"/") if part not in (b"", b".")]
    if b".." in parts:
        raise UsageError(f"The path {text!r} leads out of the workspace.")
    return b"/".join(parts)


def folder(text: str) -> str:
    """An absolute path of this machine."""
    found = local(text)
    if not found.startswith("/"):
        raise UsageError(f"The path {text!r} is not absolute.", "The daemon has no current folder of yours.")
    return found


def local(text: str) -> str:
    """A path in the form that Python's own calls want."""
    try:
        found = pathtext.from_text(text)
    except ValueError:
        raise UsageError(f"The path {text!r} can't be read.") from None
    if b"\0" in found:
        raise UsageError(f"The path {text!r} contains a NUL, which no path can.")
    return os.fsdecode(found)


def count(name: str, value: int, least: int = 0) -> int:
    """A number that must not be too small."""
    if value < least:
        raise UsageError(f"`{name}` must be {least} or more, and not {value}.")
    return value


def _below(path: str, root: str, text: str) -> str:
    if path == root:
        return ""
    if not path.startswith(root.rstrip("/") + "/"):
        raise UsageError(f"The path {text!r} is not in the workspace {root}.")
    return path[len(root.rstrip("/")) + 1 :]


def _kind(text: str) -> Kind:
    try:
        return Kind(text)
    except ValueError:
        raise UsageError(
            f"There are no checkpoints of kind {text!r}.", f"The kinds are {', '.join(Kind)}."
        ) from None
