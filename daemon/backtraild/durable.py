"""Writing files so that a power cut finds the old content or the new, never a mixture and never nothing."""

import contextlib
import os
from collections.abc import Iterable

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


def sync_folder(folder: str) -> None:
    """Make the names in a folder survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_all(descriptor: int, content: bytes | bytearray | memoryview) -> None:
    """Write everything, however often the kernel takes only a part."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def write_synced(path: str, parts: Iterable[bytes], mode: int = 0o600) -> None:
    """Create a file with this content, on disk when the call returns. Its name is not yet durable."""
    descriptor = os.open(path, _NEW_FILE, mode)
    try:
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
    write_synced(temporary, [content], mode)
    os.replace(temporary, path)
    sync_folder(os.path.dirname(path))


def remove_file(path: str) -> None:
    """Remove a file so that it stays removed."""
    os.unlink(path)
    sync_folder(os.path.dirname(path))
