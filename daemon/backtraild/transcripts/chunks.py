"""Where a conversation is cut, and how its content is hashed. Pure.

Cuts depend on the lines around them alone: when the beginning of a conversation changes, the cuts behind the change
fall where they fell before, and those chunks are in the store already.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator

SMALLEST = 32 * 1024
LARGEST = 256 * 1024
# Beyond the smallest size, one byte in so many ends a chunk with its line.
SPACING = 128 * 1024

NO_LINES_HASH = hashlib.sha256(b"backtrail conversation 1\n").digest()


def chained(previous: bytes, line: bytes) -> bytes:
    """The content hash of a conversation that goes on with a line.

    It begins as sha256("backtrail conversation 1\\n"); each line makes it sha256(hash before ‖ line), where the
    line has no newline. So it can be extended without what came before, and does not depend on chunks.
    """
    digest = hashlib.sha256(previous)
    digest.update(line)
    return digest.digest()


def cut(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Lines in groups that become chunks: a line over the largest size is alone."""
    group: list[bytes] = []
    size = 0
    for line in lines:
        if group and size + len(line) + 1 > LARGEST:
            yield group
            group, size = [], 0
        group.append(line)
        size += len(line) + 1
        if size >= SMALLEST and _ends_chunk(line):
            yield group
            group, size = [], 0
    if group:
        yield group


def joined(lines: list[bytes]) -> bytes:
    """A chunk's content: every line has its newline."""
    return b"\n".join([*lines, b""])


def _ends_chunk(line: bytes) -> bool:
    """Chance by content: the longer a line, the likelier, so that chunks are as long whatever their lines are."""
    return zlib.crc32(line) * SPACING < len(line) << 32
