"""What went wrong in hooks: lines of JSON in a file beside the daemon's log, which stays small."""

import os
from datetime import UTC, datetime

import msgspec

from backtrail.errors import BacktrailError
from backtrail.paths import places

_SIZE = 1024 * 1024


def note(agent: str, error: BaseException) -> str:
    """Write down that the hook of an agent failed; the line. Without Backtrail's folders, it is not kept."""
    known = isinstance(error, BacktrailError)
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": "warning" if known else "error",
        "agent": agent,
        "message": _told(error),
    }
    text = msgspec.json.encode(line).decode() + "\n"
    _append(str(places().hook_log), text.encode())
    return text


def _told(error: BaseException) -> str:
    """One sentence; of an error that nobody thought of, its kind and its place, but nothing that was said."""
    if isinstance(error, BacktrailError):
        return error.message.encode("utf-8", "backslashreplace").decode()
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    where = "" if at is None else f" in {os.path.basename(at.tb_frame.f_code.co_filename)}:{at.tb_lineno}"
    return f"{type(error).__name__}{where}"


def _append(path: str, line: bytes) -> None:
    """With one write, so that lines of several hooks at once do not mix."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o600)
    except FileNotFoundError:
        return
    try:
        if os.fstat(descriptor).st_size > _SIZE:
            os.replace(path, f"{path}.1")
        os.write(descriptor, line)
    finally:
        os.close(descriptor)
