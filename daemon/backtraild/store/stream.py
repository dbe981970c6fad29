"""Inflating what a pack holds, whole or in pieces: restoring a file never needs its size in memory."""

import zlib
from collections.abc import Iterator

from backtraild.store.deflating import deflate
from backtraild.store.indexes import File

PIECE = 1024 * 1024
SMALL = 4096  # what is smaller is inflated before the quicker of both has begun
FIRST_READ = 8192  # holds most objects
LARGEST_WHOLE = 1024 * 1024 * 1024  # what is larger is only read in pieces
_BEST_RATIO = 1040  # deflate makes no more than this of a byte


def whole(file: File, offset: int, size: int, packed: bytes) -> bytes:
    """What was deflated from this offset on, beginning with `packed`. ValueError unless it is `size` bytes long."""
    if size > PIECE and size > min(LARGEST_WHOLE, (file.size - offset) * _BEST_RATIO):
        raise ValueError("it claims to be larger than it can be")
    inflate = (zlib if size < SMALL else deflate).decompressobj()
    content = bytes(inflate.decompress(packed, size + 1))
    if not inflate.eof:
        content = b"".join(pieces(file, offset, size))
    if len(content) != size:
        raise ValueError("it is cut off")
    return content


def pieces(file: File, offset: int, size: int) -> Iterator[bytes]:
    """The same in pieces, never more than `size` bytes; whether that is all is for the caller to see."""
    inflate = deflate.decompressobj()
    left = size
    # Until the end of the stream, though no byte may be missing any more: its checksum is there.
    while not inflate.eof:
        packed = inflate.unconsumed_tail
        if not packed:
            packed = file.read(PIECE, offset)
            offset += len(packed)
            if not packed:
                return
        piece = inflate.decompress(packed, min(PIECE, left + 1))
        left -= len(piece)
        if left < 0:
            raise ValueError("it is longer than it says")
        if not piece and len(inflate.unconsumed_tail) == len(packed):
            raise ValueError("it can't be inflated")
        if piece:
            yield piece


def beginning(packed: bytes, length: int) -> bytes:
    """The first bytes of what begins with `packed`."""
    return bytes(deflate.decompressobj().decompress(packed, length))
