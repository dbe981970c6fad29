"""Damages a repository in many ways and reads it each time; run as a program, so that a crash is seen as one.

`python damage.py REPOSITORY SEED COUNT SMALL_PACK` expects in `REPOSITORY/expected` the contents that were
stored, named by their ids. Exact content or StoreDamaged is right; everything else is printed and makes the
exit status 1.
"""

import faulthandler
import os
import random
import sys
from collections.abc import Iterator

from backtrail.errors import StoreDamaged
from backtraild import blanks
from backtraild.store import indexes, reader
from backtraild.store.objects import ObjectType
from backtraild.store.reader import Objects

HANG_SECONDS = 20
STREAM_FROM = 600  # so that blobs of this sweep take the way of large ones

Damage = tuple[str, str, bytes | None]  # what was done, to which file, and what is left of it


def damages(files: dict[str, bytes], seed: int, count: int) -> Iterator[Damage]:
    """Every file missing, empty, foreign; then bits, bytes and ends at random, more often where it hurts."""
    for name, content in files.items():
        yield "removed", name, None
        yield "emptied", name, b""
        yield "one byte", name, content[:1]
        yield "zeros", name, bytes(len(content))
        yield "garbage", name, random.Random(seed).randbytes(len(content))
        yield "another file", name, next(other for other in [*files.values(), b"?"] if other != content)
        yield "doubled", name, content + content
    source = random.Random(seed)
    for _ in range(count):
        name = source.choice(sorted(files))
        content = bytearray(files[name])
        at = position(source, len(content))
        way = source.choice([flip, flip, cut, overwrite, zero, swap])
        yield f"{way.__name__} at {at}", name, way(content, at, source)


def position(source: random.Random, size: int) -> int:
    """The beginning and the end hold headers, tables and checksums."""
    where = source.random()
    if where < 0.25:
        return source.randrange(min(size, 64))
    return source.randrange(max(0, size - 200), size) if where < 0.5 else source.randrange(size)


def flip(content: bytearray, at: int, source: random.Random) -> bytes:
    content[at] ^= 1 << source.randrange(8)
    return bytes(content)


def cut(content: bytearray, at: int, source: random.Random) -> bytes:
    return bytes(content[:at])


def overwrite(content: bytearray, at: int, source: random.Random) -> bytes:
    length = min(source.choice([1, 4, 8, 20]), len(content) - at)
    content[at : at + length] = source.randbytes(length)
    return bytes(content)


def zero(content: bytearray, at: int, source: random.Random) -> bytes:
    length = min(512, len(content) - at)
    content[at : at + length] = bytes(length)
    return bytes(content)


def swap(content: bytearray, at: int, source: random.Random) -> bytes:
    """Two entries of a table, perhaps: four bytes change their places."""
    other = at % 4 + 4 * source.randrange(max(1, len(content) // 4 - 1))
    content[at : at + 4], content[other : other + 4] = content[other : other + 4], content[at : at + 4]
    return bytes(content)


def complaints(git_dir: str, expected: dict[bytes, bytes]) -> Iterator[str]:
    """What a reader gives that it must not give."""
    objects = Objects(git_dir)
    for oid, content in expected.items():
        sound = 0
        for way, call in (
            ("read", lambda oid=oid: objects.read(oid, ObjectType.BLOB)),
            ("chunks", lambda oid=oid: b"".join(objects.chunks(oid))),
        ):
            try:
                if call() != content:
                    yield f"{way} gave other content"
                sound += 1
            except StoreDamaged:
                pass
            except BaseException as error:
                yield f"{way} raised {error!r}"
        try:
            # A size is only read from a header: a wrong one is excused where the content is refused as well.
            if objects.size(oid) != len(content) and sound:
                yield "size gave another size"
        except StoreDamaged:
            if sound == 2:
                yield "size refused an intact object"
        except BaseException as error:
            yield f"size raised {error!r}"


def put(path: str, content: bytes | None) -> None:
    """A new file under the old name: what was mapped before stays as it was."""
    if os.path.exists(path):
        os.unlink(path)
    if content is not None:
        with open(path, "wb") as file:
            file.write(content)


def object_files(git_dir: str) -> dict[str, bytes]:
    found = {}
    for folder, _, names in os.walk(os.path.join(git_dir, "objects")):
        for name in names:
            path = os.path.join(folder, name)
            if "info" not in folder and not name.startswith(blanks.PREFIX):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, git_dir)] = file.read()
    return found


def main(git_dir: str, seed: int, count: int, small_pack: int) -> int:
    reader.STREAM_FROM = STREAM_FROM
    indexes.SMALL_PACK = small_pack
    folder = os.path.join(git_dir, "expected")
    expected = {}
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            expected[bytes.fromhex(name)] = file.read()
    files, failed = object_files(git_dir), 0
    intact = Objects(git_dir)
    assert all(b"".join(intact.chunks(oid)) == intact.read(oid) == expected[oid] for oid in expected)
    for number, (way, name, left) in enumerate(damages(files, seed, count)):
        put(os.path.join(git_dir, name), left)
        os.write(
            2, f"seed {seed}, damage {number}: {name}, {way}\n".encode()
        )  # the last line tells of a crash
        faulthandler.dump_traceback_later(HANG_SECONDS, exit=True)
        for complaint in complaints(git_dir, expected):
            failed += 1
            print(f"{name}, {way}: {complaint}")
        put(os.path.join(git_dir, name), files[name])
    faulthandler.cancel_dump_traceback_later()
    print(f"{number + 1} damages, {failed} complaints")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], *map(int, sys.argv[2:])))
