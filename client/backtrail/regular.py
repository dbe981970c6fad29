"""Reading files that others may have put there: only regular ones, never for ever, and not without end."""

import errno
import os
import stat

_PAGE = 4096
_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


def open_regular(path: str | os.PathLike[str], *, follow: bool = True) -> int:
    """A descriptor of a regular file; an OSError with EINVAL for anything else, such as a FIFO that nobody fills."""
    descriptor = os.open(path, _FLAGS if follow else _FLAGS | os.O_NOFOLLOW)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not a regular file", os.fspath(path))
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: str | os.PathLike[str], limit: int, *, follow: bool = True) -> bytes:
    """The content of a small file; an OSError with EFBIG where it is longer than any that was meant to be there."""
    descriptor = open_regular(path, follow=follow)
    try:
        content = _read(descriptor, limit)
    finally:
        os.close(descriptor)
    if len(content) > limit:
        raise OSError(errno.EFBIG, f"longer than {limit:,} bytes", os.fspath(path))
    return content


def _read(descriptor: int, limit: int) -> bytes:
    """One byte more than that, or as many as there are. A file object would ask the system twice as much."""
    if limit < _PAGE:  # which the system reads at once
        return os.read(descriptor, limit + 1)
    # No more than it has: as much memory as is asked for is taken at once.
    length = min(limit, os.fstat(descriptor).st_size) + 1
    content = b""
    while len(content) < length and (more := os.read(descriptor, length - len(content))):
        content += more
    return content
