"""What lies on the disk, as git would name it, and how to know the same file again later."""

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from typing import NamedTuple

from backtraild.model import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE, Entry
from backtraild.restore.calls import OPEN_FILE, Calls

PIECE = 1 << 20
_TICK = 50_000_000  # the kernel's clock for mtimes moves every 1 to 10 ms
_COARSE_TICK = 2_000_000_000  # file systems without sub-second times


class Seen(NamedTuple):
    """A file as it was when its content was hashed."""

    ino: int
    size: int
    mtime_ns: int
    mode: int
    uid: int
    gid: int
    doubtful: bool  # so young that a later write need not show in its mtime


class Found(NamedTuple):
    """A file or symlink on disk. `entry` is None for other things and for torn content."""

    entry: Entry | None
    seen: Seen


def seen_of(status: os.stat_result, looked_at: int) -> Seen:
    """The mark by which a file is known again; `looked_at` is the time just before its content was read."""
    tick = _TICK if status.st_mtime_ns % 1_000_000_000 else _COARSE_TICK
    return Seen(
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_mode,
        status.st_uid,
        status.st_gid,
        looked_at - status.st_mtime_ns < tick,
    )


def is_untouched(seen: Seen, status: os.stat_result) -> bool:
    """Is this surely the file that was hashed, with the content it had then?"""
    return (
        seen.ino == status.st_ino
        and seen.mtime_ns == status.st_mtime_ns
        and seen.size == status.st_size
        and seen.mode == status.st_mode
        and not seen.doubtful
    )


def look(calls: Calls, folder: int, name: bytes) -> Found | None:
    """What is there, without following a symlink; None if there is nothing. Raises OSError if unreadable."""
    try:
        status = calls.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if stat.S_ISREG(status.st_mode):
        return _look_into_file(calls, folder, name)
    if stat.S_ISLNK(status.st_mode):
        seen = seen_of(status, time.time_ns())
        target = calls.readlink(name, dir_fd=folder)
        return Found(Entry(SYMLINK_MODE, blob_id(target)), seen)
    return Found(None, seen_of(status, 0))


def blob_id(content: bytes) -> bytes:
    """Git's id of this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).digest()


def same_content(one: Entry | None, other: Entry | None) -> bool:
    """Do both hold the same bytes as the same type? The executable bit is not content."""
    if one is None or other is None:
        return False
    return one.oid == other.oid and (one.mode == SYMLINK_MODE) == (other.mode == SYMLINK_MODE)


def pieces(calls: Calls, descriptor: int, size: int) -> Iterator[bytes]:
    """The file's bytes up to one piece more than `size`, so that growth is noticed and reading ends."""
    left = size + 1
    while left > 0:
        asked = min(left, PIECE)
        piece = calls.read(descriptor, asked)
        yield piece
        if len(piece) < asked:
            return  # the end; should it not be, the length tells
        left -= asked


def _look_into_file(calls: Calls, folder: int, name: bytes) -> Found:
    descriptor = calls.open(name, OPEN_FILE, dir_fd=folder)
    try:
        looked_at = time.time_ns()
        status = calls.fstat(descriptor)
        seen = seen_of(status, looked_at)
        if not stat.S_ISREG(status.st_mode):
            return Found(None, seen)
        digest = hashlib.sha1(b"blob %d\0" % status.st_size)
        length = 0
        for piece in pieces(calls, descriptor, status.st_size):
            length += len(piece)
            digest.update(piece)
    finally:
        calls.close(descriptor)
    if length != status.st_size:
        return Found(None, seen)  # it grew or shrank under our eyes: nobody's old content
    mode = EXECUTABLE_MODE if status.st_mode & stat.S_IXUSR else FILE_MODE
    return Found(Entry(mode, digest.digest()), seen)
