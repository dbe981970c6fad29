"""Writing files so that a power cut finds the old content or the new, never a mixture and never nothing."""

import contextlib
import os
from collections.abc import Iterable, Iterator

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def sync_folder(folder: str) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: str) -> None:
    """A private folder, and those above it that are missing, with names that survive a power cut."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(path)
    make_folder(above)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    sync_folder(above)


def write_all(descriptor: int, content: bytes | bytearray | memoryview) -> None:
    """Write everything, however often the kernel takes only a part."""
    # Let go of also where it fails: a view that the error keeps alive would not let the content shrink.
    with memoryview(content) as whole:
        written = 0
        while written < len(whole):
            with whole[written:] as rest:
                written += os.write(descriptor, rest)


@contextlib.contextmanager
def named(path: str) -> Iterator[None]:
    """Errors in this block say which file it is about, and so which disk is full or fails."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or path
        raise


def write_synced(path: str, parts: Iterable[bytes], mode: int = 0o600) -> None:
    """Create a file with this content, on disk when the call returns. Its name is not yet durable."""
    descriptor = os.open(path, _NEW_FILE, mode)
    try:
        with named(path):
            for part in parts:
                write_all(descriptor, part)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_file(path: str, content: bytes, mode: int = 0o600) -> None:
    """Put a file in place, durably and in one step. Only one writer per path: the temporary name is fixed."""
    temporary = f"{path}.tmp"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)  # left by a crash
    try:
        write_synced(temporary, [content], mode)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):  # on a full disk, half a file takes what little there is
            os.unlink(temporary)
        raise
    sync_folder(os.path.dirname(path))


def remove_file(path: str) -> None:
    """Remove a file so that it stays removed."""
    os.unlink(path)
    sync_folder(os.path.dirname(path))
