"""Packs to test with: objects from a seed, and where they go."""

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from backtraild import blanks
from backtraild.store.objects import ObjectType
from backtraild.store.pack import PackWriter


def nothing_known(oid: bytes) -> bool:
    """For a store that is empty."""
    return False


def blobs(seed: int, count: int = 40) -> list[bytes]:
    """Contents of many sizes, some that deflate well and some that do not."""
    print(f"seed {seed}")  # shown when the test fails
    source = random.Random(seed)
    sizes = [0, 1, 15, 16, 17, 2047, 2048, *(source.randrange(5000) for _ in range(count))]
    return [source.randbytes(size) if source.random() < 0.5 else b"%d " % size * size for size in sizes]


def pieces(content: bytes, length: int = 100) -> Callable[[], Iterator[bytes]]:
    """A way to read content again and again, as a large file is read."""
    return lambda: (content[at : at + length] for at in range(0, len(content), length))


def write_pack(repository: Path, contents: list[bytes]) -> dict[bytes, bytes]:
    """Put contents into a repository as one pack; the contents by id."""
    writer = PackWriter(os.path.join(repository, "objects", "pack"), nothing_known)
    found = {writer.add(ObjectType.BLOB, content): content for content in contents}
    writer.finish()
    return found


def pack_files(repository: Path) -> list[Path]:
    """What lies in a repository's pack folder, without what was made ahead for the next pack."""
    found = (repository / "objects" / "pack").iterdir()
    return sorted(path for path in found if not path.name.startswith(blanks.PREFIX))
