"""inotify without a library around it: to load one takes as long as looking at thousands of files."""

import ctypes
import errno
import os
import sys

_CLOSE_ON_EXEC = 0o2000000

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_ONLY_FOLDERS, _NO_SYMLINKS, _EXCEPT_UNLINKED = 0x01000000, 0x02000000, 0x04000000

# Opening and reading are left out: the daemon's own reads would flood it.
CHANGES = (
    _CREATE
    | _DELETE
    | _MODIFY
    | _CLOSE_WRITE
    | _ATTRIB
    | _MOVED_FROM
    | _MOVED_TO
    | _DELETE_SELF
    | _MOVE_SELF
    | _ONLY_FOLDERS
    | _EXCEPT_UNLINKED
)

# A scout has one thread: nobody waits for the interpreter while the system is at work.
_library = ctypes.PyDLL(None, use_errno=True)
if sys.platform == "linux":
    _add = _library.inotify_add_watch
    _add.argtypes = ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32

# Nothing about the folder: the system has no more watches to give.
_EXHAUSTED = (errno.ENOSPC, errno.ENOMEM)


def open_queue() -> int:
    """A new queue of events."""
    queue: int = _library.inotify_init1(_CLOSE_ON_EXEC)
    if queue == -1:
        raise _error()
    return queue


def watch(queue: int, folder: bytes) -> int | None:
    """Have changes in a folder told; the number under which they will be. None if it can't be entered, or is none.

    A symlink in its place is not followed. Raises OSError where the system has no more watches.
    """
    number: int = _add(queue, folder, CHANGES | _NO_SYMLINKS)
    if number == -1:
        error = _error()
        if error.errno in _EXHAUSTED:
            raise error
        return None
    return number


def _error() -> OSError:
    code = ctypes.get_errno()
    return OSError(code, os.strerror(code))
