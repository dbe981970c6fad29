"""inotify without a library around it: to load one takes as long as looking at thousands of files."""

import ctypes
import os
import sys

_CLOSE_ON_EXEC = 0o2000000

_MODIFY, _ATTRIB, _CLOSE_WRITE = 0x2, 0x4, 0x8
_MOVED_FROM, _MOVED_TO, _CREATE, _DELETE = 0x40, 0x80, 0x100, 0x200
_DELETE_SELF, _MOVE_SELF = 0x400, 0x800
_ONLY_FOLDERS, _EXCEPT_UNLINKED = 0x01000000, 0x04000000

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

_library = ctypes.CDLL(None, use_errno=True)
if sys.platform == "linux":
    _add = _library.inotify_add_watch
    _add.argtypes = ctypes.c_int, ctypes.c_char_p, ctypes.c_uint32


def open_queue() -> int:
    """A new queue of events."""
    return _checked(_library.inotify_init1(_CLOSE_ON_EXEC))


def watch(queue: int, folder: bytes) -> int:
    """Have changes in a folder told; the number under which they will be."""
    return _checked(_add(queue, folder, CHANGES))


def _checked(answer: int) -> int:
    if answer == -1:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return answer
