"""The system calls that restore makes, as one object: the seam where tests fail or kill it at any call."""

import ctypes
import errno
import fcntl
import os
import sys

from backtraild import durable

RENAME_NOREPLACE = 1
RENAME_EXCHANGE = 2

# The kernel, the file system or the C library does not know the call or the flag.
UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP})
NOT_A_FOLDER = frozenset({errno.ELOOP, errno.ENOTDIR})

OPEN_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking, so that a FIFO put in the place of a file cannot hang the daemon.
OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

# Of linux/fs.h, where `long` has eight bytes; any other system answers that it does not know them.
_GET_FLAGS, _SET_FLAGS = 0x80086601, 0x40086602
_TOP_OF_A_HIERARCHY = 0x00020000  # `chattr +T`

_libc = ctypes.CDLL(None, use_errno=True)
_renameat2 = getattr(_libc, "renameat2", None)
_syncfs = getattr(_libc, "syncfs", None)
if _renameat2 is not None:
    _renameat2.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]


def _rename_with_flags(source: int, name: bytes, target: int, new_name: bytes, flags: int) -> None:
    if _renameat2 is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if _renameat2(source, name, target, new_name, flags):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _sync_file_system(descriptor: int) -> None:
    if _syncfs is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    if _syncfs(descriptor):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _let_folders_lie_apart(descriptor: int) -> None:
    """Have folders that are made in this one lie anywhere on the disk; an OSError on file systems that can't."""
    if sys.platform != "linux":
        raise OSError(errno.ENOTTY, os.strerror(errno.ENOTTY))
    flags = fcntl.ioctl(descriptor, _GET_FLAGS, bytes(8))
    told = int.from_bytes(flags[:4], sys.byteorder) | _TOP_OF_A_HIERARCHY
    fcntl.ioctl(descriptor, _SET_FLAGS, told.to_bytes(4, sys.byteorder) + bytes(4))


def _names_in(descriptor: int) -> list[str]:
    return os.listdir(descriptor)


def _append(path: str, content: bytes, durably: bool) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        durable.write_all(descriptor, content)
        if durably:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Calls:
    """The real calls. Nothing in this package asks the operating system for a change in any other way."""

    open = staticmethod(os.open)
    close = staticmethod(os.close)
    read = staticmethod(os.read)
    write = staticmethod(os.write)
    fsync = staticmethod(os.fsync)
    sync = staticmethod(os.sync)
    syncfs = staticmethod(_sync_file_system)
    fchmod = staticmethod(os.fchmod)
    fchown = staticmethod(os.fchown)
    stat = staticmethod(os.stat)
    fstat = staticmethod(os.fstat)
    listdir = staticmethod(_names_in)
    readlink = staticmethod(os.readlink)
    symlink = staticmethod(os.symlink)
    mkdir = staticmethod(os.mkdir)
    let_folders_lie_apart = staticmethod(_let_folders_lie_apart)
    rmdir = staticmethod(os.rmdir)
    unlink = staticmethod(os.unlink)
    link = staticmethod(os.link)
    rename = staticmethod(os.rename)
    renameat2 = staticmethod(_rename_with_flags)
    save_journal = staticmethod(durable.replace_file)
    append_journal = staticmethod(_append)
    remove_journal = staticmethod(durable.remove_file)


OS = Calls()
