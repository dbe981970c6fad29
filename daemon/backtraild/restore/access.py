"""May the restore do what it plans? Asked before anything is written, so that every place that bars it is named."""

import fcntl
import os
import stat
import sys
from collections.abc import Iterator

from backtrail.errors import RestoreFailed
from backtrail.pathtext import to_text
from backtraild.model import Path
from backtraild.restore.calls import OPEN_FILE
from backtraild.restore.content import Seen
from backtraild.restore.folders import Folders, NoFolder, parent_of
from backtraild.restore.plan import Delete, Plan, Write

_NAMED = 10
_GET_FLAGS, _IMMUTABLE = 0x80086601, 0x10  # of Linux, where it is 64 bits wide


def refuse_barred(folders: Folders, plan: Plan) -> None:
    """Raises RestoreFailed with the folders and files that this user may not change."""
    if plan.is_empty:
        return
    barred = [*_barred_folders(folders, plan), *_barred_files(folders, plan), *_barred_modes(plan)]
    if not barred:
        return
    named = ", ".join(barred[:_NAMED])
    more = f" and {len(barred) - _NAMED:,} more" if len(barred) > _NAMED else ""
    raise RestoreFailed(
        f"The restore may not make all the changes it has to: {named}{more}. Nothing was changed.",
        "Allow them (chmod u+w, chattr -i, a mount that is not read-only), or restore other paths only.",
    )


def _moves(plan: Plan) -> Iterator[Write | Delete]:
    """Changes by which a name comes or goes, or gets another file."""
    yield from plan.writes
    yield from plan.deletes


def _barred_folders(folders: Folders, plan: Plan) -> Iterator[str]:
    """Folders in which names come and go, and those in which content waits before it is moved."""
    touched = {parent_of(change.path) for change in _moves(plan)}
    may_write: dict[Path, bool] = {}
    tops = {b""}
    # In order, so that each is one step from the one before, and all that is asked of it at once.
    for path in sorted(touched):
        existing = _existing(folders, path)
        tops.add(folders.open(existing).top)
        may_write[existing] = may_write.get(existing) or _may_write(folders, existing)
    may_write |= {path: _may_write(folders, path) for path in tops - may_write.keys()}
    for path in sorted(path for path, allowed in may_write.items() if not allowed):
        yield f"the folder {to_text(path)} can't be written" if path else "the workspace can't be written"


def _may_write(folders: Folders, path: Path) -> bool:
    return os.access(".", os.W_OK | os.X_OK, dir_fd=folders.open(path).fd)


def _existing(folders: Folders, path: Path) -> Path:
    """This folder, or the deepest one above it that exists."""
    while True:
        try:
            folders.open(path)
        except NoFolder as error:
            path = parent_of(error.path)
        else:
            return path


def _barred_files(folders: Folders, plan: Plan) -> Iterator[str]:
    """Files that stay where they are although names may come and go in their folder."""
    for change in _moves(plan):
        if change.seen is None:
            continue
        folder, _, name = change.path.rpartition(b"/")
        try:
            descriptor = folders.open(folder).fd
        except NoFolder:
            continue  # gone since it was planned: the restore itself finds out
        if _is_somebody_elses(descriptor, change.seen):
            yield f"{to_text(change.path)} belongs to somebody else, in a folder where only owners remove files"
        elif _is_immutable(descriptor, name, change.seen):
            yield f"{to_text(change.path)} is immutable"


def _barred_modes(plan: Plan) -> Iterator[str]:
    for change in plan.mode_changes:
        if os.geteuid() not in (0, change.seen.uid):
            yield f"{to_text(change.path)} belongs to somebody else, who alone may make it executable or not"


def _is_somebody_elses(folder: int, seen: Seen) -> bool:
    user = os.geteuid()
    if user in (0, seen.uid):
        return False
    status = os.fstat(folder)
    return bool(status.st_mode & stat.S_ISVTX) and user != status.st_uid


def _is_immutable(folder: int, name: bytes, seen: Seen) -> bool:
    """A mode that forbids writing does not keep a file from being replaced, but this attribute does."""
    if not stat.S_ISREG(seen.mode) or os.access(name, os.W_OK, dir_fd=folder) or sys.platform != "linux":
        return False
    try:
        descriptor = os.open(name, OPEN_FILE, dir_fd=folder)
    except OSError:
        return False
    try:
        flags = fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8))
        return bool(int.from_bytes(flags[:4], sys.byteorder) & _IMMUTABLE)
    except OSError:  # this file system has no attributes
        return False
    finally:
        os.close(descriptor)
