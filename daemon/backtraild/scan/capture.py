"""Reading one file so that what is stored was really there at one moment."""

import os
import stat
from collections.abc import Callable, Iterator
from errno import ELOOP, ENOTDIR, ENXIO
from functools import cache, partial
from typing import NamedTuple

from msgspec import Struct

from backtraild.model import (
    EXECUTABLE_MODE,
    FILE_MODE,
    SYMLINK_MODE,
    BlobSink,
    ContentMoved,
    ObjectId,
    Packed,
    Placed,
    SkipReason,
)
from backtraild.state import READ_AGAIN, Row, Stat
from backtraild.ticks import is_settled

ATTEMPTS = 3
WHOLE_UP_TO = 1024 * 1024
PIECE = 1024 * 1024

_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | getattr(os, "O_NOCTTY", 0)


class _Gone(Exception):
    """There is no such file any more. Not FileNotFoundError, which may also come out of the sink."""


class _Unreadable(Exception):
    """The file is there, but its content is not to be had."""

    def __init__(self, error: OSError) -> None:
        self.passes_unseen = passes_unseen(error)


class Left(Struct, frozen=True):
    """A file that was not captured, and why."""

    size: int
    reason: SkipReason
    look_again: bool = False  # no event will tell that it can be captured


class Captured(NamedTuple):
    """A file that was read, with its content ready to go into a pack."""

    executable: bool
    mtime_ns: int
    ctime_ns: int
    inode: int
    content: Packed

    @property
    def row(self) -> Stat:
        """What the stat table keeps."""
        executable, mtime_ns, ctime_ns, inode, content = self
        # One number for all, also where they came by wire.
        mode = EXECUTABLE_MODE if executable else FILE_MODE
        return Stat(mode, content.oid, content.size, mtime_ns, ctime_ns, inode)


@cache  # a few modes serve all files of a folder
def git_mode(mode: int) -> int | None:
    """The mode git would record; None for what git does not know."""
    if stat.S_ISREG(mode):
        return EXECUTABLE_MODE if mode & stat.S_IXUSR else FILE_MODE
    return SYMLINK_MODE if stat.S_ISLNK(mode) else None


def is_unchanged(known: Row, status: os.stat_result, max_size: int) -> bool:
    """Does the file system show the file exactly as when it was captured, and would it be captured again?"""
    mode, _, size, mtime_ns, ctime_ns, inode = known
    return (
        ctime_ns == status.st_ctime_ns
        and (mtime_ns == status.st_mtime_ns or mtime_ns == in_64_bits(status.st_mtime_ns))
        and size == status.st_size
        and inode == status.st_ino
        and mode == git_mode(status.st_mode)
        and size <= max_size  # which its owner may have lowered since
    )


def in_64_bits(time_ns: int) -> int:
    """The same time as the table can hold it: nanoseconds beyond the year 2262 go round to negative ones."""
    return (time_ns + 2**63) % 2**64 - 2**63


def capture(
    name: bytes,
    folder: int,
    status: os.stat_result,
    sink: BlobSink,
    max_size: int,
    clock: Callable[[], int],
) -> Stat | Left | None:
    """Give the content of a file that was just looked at to the sink. None if it is gone.

    A file that is written to while it is read is tried again; if it does not come to rest, it is left.
    Only failures to read are taken for an unreadable file: those of the sink go through to the caller.
    """
    for attempt in range(ATTEMPTS):
        started = clock()
        try:
            if attempt:
                status = _look(name, folder)
            mode = git_mode(status.st_mode)
            if mode is None:
                return Left(status.st_size, SkipReason.SPECIAL_FILE)
            if status.st_size > max_size:
                return Left(status.st_size, SkipReason.TOO_LARGE)
            if mode == SYMLINK_MODE:
                status, content = _read_link(name, folder, status)
            elif status.st_size <= WHOLE_UP_TO:
                status, content = _read_whole(name, folder)
            else:
                status, oid = _read_large(name, folder, sink)
                return _read_row(status, oid, started, clock())
        except _Gone:
            return None
        except ContentMoved:
            continue
        except _Unreadable as error:
            return Left(status.st_size, SkipReason.UNREADABLE, error.passes_unseen)
        return _read_row(status, sink.add_blob(content), started, clock())
    return Left(status.st_size, SkipReason.CHANGING, look_again=True)


def capture_plain(
    name: bytes, folder: int, pack: Callable[[bytes], Packed], clock: Callable[[], int]
) -> Captured | None:
    """The same for one that is all that nearly all are: regular, not large, readable, and not being written to.

    None for any other: it takes a closer look to say what is to be done with it.
    """
    started = clock()
    try:
        status, content = _read_whole(name, folder)
    except (_Gone, _Unreadable, ContentMoved):
        return None
    packed = pack(content)
    row = _read_row(status, packed.oid, started, clock())
    return Captured(row.mode == EXECUTABLE_MODE, row.mtime_ns, row.ctime_ns, row.inode, packed)


def as_placed(placed: Placed, status: os.stat_result) -> Stat | None:
    """The row of a file whose content is known because it was put there; None where it has to be read.

    Written to since, it would have a later time: it was older than a tick when anybody could first write to it.
    A time that somebody set back shows in the change time, which the move itself set last; but not within the
    tick of the move. So the row never matches, and the next look, for which nobody waits, reads the file.
    """
    is_as_written = (placed.inode, placed.size, placed.mtime_ns) == (
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
    )
    is_known = (
        is_as_written
        and stat.S_ISREG(status.st_mode)
        and is_settled(placed.mtime_ns, placed.moved_after, placed.moved_after)
        and status.st_ctime_ns <= placed.moved_before
    )
    return _row(status, placed.oid, settled=False) if is_known else None


def passes_unseen(error: OSError) -> bool:
    """May this be over without an event? A change of permissions has one; a disk that reads again has none."""
    return not isinstance(error, PermissionError)


def _look(name: bytes, folder: int) -> os.stat_result:
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError as error:
        raise _reading_failed(error) from error


def _read_link(name: bytes, folder: int, before: os.stat_result) -> tuple[os.stat_result, bytes]:
    try:
        target = os.readlink(name, dir_fd=folder)
    except OSError as error:
        raise _reading_failed(error) from error
    after = _look(name, folder)
    if _moved(before, after):
        raise ContentMoved
    return after, target


def _read_whole(name: bytes, folder: int) -> tuple[os.stat_result, bytes]:
    try:
        descriptor = os.open(name, _OPEN_FLAGS, dir_fd=folder)
        try:
            before = _regular(descriptor)
            content = _whole(descriptor, min(before.st_size, WHOLE_UP_TO))
            after = _status(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise _reading_failed(error) from error
    if len(content) != before.st_size or _moved(before, after):
        raise ContentMoved
    return after, content


def _read_large(name: bytes, folder: int, sink: BlobSink) -> tuple[os.stat_result, ObjectId]:
    try:
        descriptor = os.open(name, _OPEN_FLAGS, dir_fd=folder)
    except OSError as error:
        raise _reading_failed(error) from error
    try:
        before = _regular(descriptor)
        oid = sink.add_blob_stream(before.st_size, partial(_pieces, descriptor))
        if _moved(before, _status(descriptor)):
            raise ContentMoved
    finally:
        os.close(descriptor)
    return before, oid


def _regular(descriptor: int) -> os.stat_result:
    # Opened with O_NOFOLLOW and O_NONBLOCK: the name may have become a symlink or a FIFO since the look.
    status = _status(descriptor)
    if not stat.S_ISREG(status.st_mode):
        raise ContentMoved
    return status


def _status(descriptor: int) -> os.stat_result:
    try:
        return os.fstat(descriptor)
    except OSError as error:
        raise _Unreadable(error) from error


def _reading_failed(error: OSError) -> Exception:
    """ENOENT: it is gone. ELOOP, ENXIO, ENOTDIR: it became something else. The rest: it can't be read."""
    if isinstance(error, FileNotFoundError):
        return _Gone()
    return ContentMoved() if error.errno in (ELOOP, ENXIO, ENOTDIR) else _Unreadable(error)


def _whole(descriptor: int, size: int) -> bytes:
    content = os.read(descriptor, size + 1)
    while len(content) < size:
        more = os.read(descriptor, size + 1 - len(content))
        if not more:
            break
        content += more
    return content


def _pieces(descriptor: int) -> Iterator[bytes]:
    offset = 0
    while piece := _piece(descriptor, offset):
        yield piece
        offset += len(piece)


def _piece(descriptor: int, offset: int) -> bytes:
    try:
        return os.pread(descriptor, PIECE, offset)
    except OSError as error:
        raise _Unreadable(error) from error


def _moved(before: os.stat_result, after: os.stat_result) -> bool:
    return (
        before.st_mtime_ns != after.st_mtime_ns
        or before.st_ctime_ns != after.st_ctime_ns
        or before.st_size != after.st_size
        or before.st_ino != after.st_ino
    )


def _read_row(status: os.stat_result, oid: ObjectId, started: int, ended: int) -> Stat:
    """The row of a file that was read between these times. One touched within the last tick could change again
    unseen: git's racy-timestamp rule."""
    settled = is_settled(status.st_mtime_ns, started, ended) and is_settled(
        status.st_ctime_ns, started, ended
    )
    return _row(status, oid, settled=settled)


def _row(status: os.stat_result, oid: ObjectId, *, settled: bool) -> Stat:
    """What the stat table keeps; what is not settled never matches, and the next look reads it again."""
    # A change time that the table can't hold means a clock that is centuries off: such a file is read again.
    ctime = status.st_ctime_ns
    kept = ctime if settled and ctime < 2**63 else READ_AGAIN
    mode = git_mode(status.st_mode) or FILE_MODE
    return Stat(mode, oid, status.st_size, in_64_bits(status.st_mtime_ns), kept, status.st_ino)
