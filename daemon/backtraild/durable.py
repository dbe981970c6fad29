"""Writing files so that a power cut finds the old content or the new, never a mixture and never nothing."""

import contextlib
import os
from collections.abc import Iterable, Iterator

from backtraild.blanks import Blank

_PIECE = 1024 * 1024
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
            write_parts(descriptor, parts)
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_parts(descriptor: int, parts: Iterable[bytes]) -> None:
    """Write all of them, by few calls."""
    for piece in _gathered(parts):
        write_all(descriptor, piece)


def sync_file(path: str) -> None:
    """Make what was written to a file survive a power cut. What is no file by now, such as a FIFO, is an error."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        with named(path):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """The same in few pieces: a small file is written by one call."""
    pieces: list[bytes] = []
    size = 0
    for part in parts:
        pieces.append(part)
        size += len(part)
        if size >= _PIECE:
            yield b"".join(pieces)
            pieces, size = [], 0
    if pieces:
        yield b"".join(pieces)


class Replacement:
    """A file's next content, beside it: written, and neither durable nor in place before `place` returns.

    Only one writer per path: without a blank, the temporary name is fixed.
    """

    def __init__(self, path: str, content: bytes, mode: int = 0o600, *, blank: Blank | None = None) -> None:
        """`blank` is the file that is written and put in place, on the same disk; else one beside the old."""
        self._path = path
        self._descriptor, self._temporary, _ = blank or _beside(path, mode)
        try:
            with named(self._temporary):
                write_all(self._descriptor, content)
        except BaseException:
            self.abandon()
            raise

    def place(self) -> None:
        """Put it in place, durably and in one step."""
        try:
            with named(self._temporary):
                os.fsync(self._descriptor)
        except BaseException:
            self.abandon()
            raise
        self.show()
        sync_folder(os.path.dirname(self._path))

    def show(self) -> None:
        """Put it in place in one step, for everybody to see; a power cut may still take it."""
        try:
            self._close()
            os.replace(self._temporary, self._path)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Leave the file as it was: on a full disk, half of a new one takes what little there is."""
        with contextlib.suppress(OSError):
            self._close()
        with contextlib.suppress(OSError):
            os.unlink(self._temporary)

    def _close(self) -> None:
        # Forgotten first: after a failed close the number may already belong to another file.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def _beside(path: str, mode: int) -> Blank:
    temporary = f"{path}.tmp"
    try:
        return Blank(os.open(temporary, _NEW_FILE, mode), temporary)
    except FileExistsError:  # left by a crash
        os.unlink(temporary)
        return Blank(os.open(temporary, _NEW_FILE, mode), temporary)


def replace_file(path: str, content: bytes, mode: int = 0o600) -> None:
    """Put a file in place, durably and in one step."""
    Replacement(path, content, mode).place()


def remove_file(path: str) -> None:
    """Remove a file so that it stays removed."""
    os.unlink(path)
    sync_folder(os.path.dirname(path))
