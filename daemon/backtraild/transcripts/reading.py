"""Going through a conversation that was handed over, once; a file is read from where it was left if it only grew."""

import contextlib
import hashlib
import os
import stat
from collections.abc import Iterator

from msgspec import Struct

from backtrail.errors import UnreadableTranscript
from backtraild.transcripts.model import Lines, Messages, Source
from backtraild.transcripts.splitting import LONGEST_ARRAY, MARGIN, Splitting, elements, encoded, is_array

PIECE = 1024 * 1024

_OPEN_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


class Position(Struct, frozen=True):
    """How far a file was taken, and what it looked like up to there."""

    file: str  # which one it is, whatever its name
    offset: int
    head: bytes
    tail: bytes


class Reading(Struct, frozen=True):
    """The lines of a source. The rest is known when all of them were taken."""

    lines: Iterator[bytes]
    splitting: Splitting | None = None
    status: os.stat_result | None = None
    resumed: bool = False  # these are only the lines since the position that was given

    @property
    def incomplete(self) -> bool:
        """Was a last line left out because it is still being written?"""
        return self.splitting is not None and self.splitting.incomplete

    @property
    def position(self) -> Position | None:
        """Where to go on next time; None where everything has to be read again."""
        if self.splitting is None or self.status is None:
            return None
        at = self.splitting
        return Position(_identity(self.status), at.offset, at.head_hash, at.tail_hash)


@contextlib.contextmanager
def opened(source: Source, position: Position | None) -> Iterator[Reading]:
    """Begin with a source: at a position in its file, if the file is the same up to there."""
    if isinstance(source, Messages):
        yield Reading(iter(encoded(source.values)))
    elif isinstance(source, Lines):
        yield _in_memory(source.content)
    else:
        descriptor = _open(source.path)
        try:
            yield _File(source.path, descriptor).reading(position)
        finally:
            os.close(descriptor)


def _in_memory(content: bytes) -> Reading:
    if is_array(content):
        return Reading(iter(elements(content)))
    splitting = Splitting()
    return Reading(splitting.lines([content]), splitting)


def _open(path: str) -> int:
    # Neither a symlink nor a FIFO may lead the daemon elsewhere, or keep it waiting.
    try:
        return os.open(path, _OPEN_FLAGS)
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL in it
        reason = error.strerror if isinstance(error, OSError) else error
        raise UnreadableTranscript(
            f"The transcript {path!r} can't be opened: {reason}.", "Give the path of a file that can be read."
        ) from error


class _File:
    """An open transcript, up to the length it has now: it may grow faster than it is read."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor
        self._status = os.fstat(descriptor)
        if not stat.S_ISREG(self._status.st_mode):
            raise UnreadableTranscript(f"The transcript {path!r} is not a regular file.")

    def reading(self, position: Position | None) -> Reading:
        """From the position on if the file only grew since, else all of it."""
        splitting = None if position is None else self._resumed(position)
        if splitting is not None:
            return Reading(
                splitting.lines(self._pieces(splitting.offset)), splitting, self._status, resumed=True
            )
        if self._read(MARGIN, 0).lstrip()[:1] == b"[":
            content = b"".join(self._pieces(0, LONGEST_ARRAY + 1))
            if is_array(content):
                return Reading(iter(elements(content)))
        splitting = Splitting()
        return Reading(splitting.lines(self._pieces(0)), splitting, self._status)

    def _resumed(self, position: Position) -> Splitting | None:
        """Go on from a position; None if the file is another one, shorter, or changed at either end of it."""
        length = min(MARGIN, position.offset)
        if _identity(self._status) != position.file:
            return None
        # A file that is shorter now has another tail, or none, where the old one was.
        head, tail = self._read(length, 0), self._read(length, position.offset - length)
        if (_hash(head), _hash(tail)) != (position.head, position.tail):
            return None
        # A last line without a newline was taken as complete: if it goes on all the same, it is another line.
        ended = tail[-1:] in (b"", b"\n") or self._read(1, position.offset) in (b"", b"\n")
        return Splitting(position.offset, head, tail) if ended else None

    def _pieces(self, offset: int, limit: int | None = None) -> Iterator[bytes]:
        end = self._status.st_size if limit is None else min(limit, self._status.st_size)
        while offset < end:
            piece = self._read(min(PIECE, end - offset), offset)
            if not piece:
                raise UnreadableTranscript(
                    f"The transcript {self._path!r} became shorter while it was read.", "Try again."
                )
            yield piece
            offset += len(piece)

    def _read(self, length: int, offset: int) -> bytes:
        try:
            return os.pread(self._descriptor, length, offset)
        except OSError as error:
            raise UnreadableTranscript(
                f"The transcript {self._path!r} can't be read: {error.strerror}."
            ) from error


def _identity(status: os.stat_result) -> str:
    return f"{status.st_dev}:{status.st_ino}"


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
