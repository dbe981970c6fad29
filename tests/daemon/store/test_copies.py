"""Several copies of an object: one that is intact is enough. And objects that claim to be huge."""

import hashlib
import os
import struct
import tracemalloc
import zlib
from array import array
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged
from backtraild.store import indexes, reader
from backtraild.store.objects import ObjectType, object_id
from backtraild.store.pack import PackWriter, encode_index
from backtraild.store.packed import encode_header
from backtraild.store.reader import Objects
from support import damage
from support.packs import nothing_known

CONTENT = b"what matters\n" * 100
MEGABYTE = 1024 * 1024


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "objects" / "pack").mkdir(parents=True)
    return tmp_path


def packed(repository: Path, *contents: bytes) -> Path:
    """A pack with these contents."""
    writer = PackWriter(str(repository / "objects" / "pack"), nothing_known)
    for content in contents:
        writer.add_blob(content)
    return Path(f"{writer.finish()}.pack")


def spoil(pack: Path) -> None:
    """Every object in it."""
    content = pack.read_bytes()
    damage.put(str(pack), content[:12] + bytes(len(content) - 12))


@pytest.mark.parametrize("small_pack", [0, 300])
@pytest.mark.parametrize("stream_from", [100, MEGABYTE])
def test_an_intact_copy_is_found_wherever_it_is(
    repository: Path, monkeypatch: pytest.MonkeyPatch, small_pack: int, stream_from: int
):
    """What upkeep or a healing wrote again must be of use."""
    monkeypatch.setattr(indexes, "SMALL_PACK", small_pack)
    monkeypatch.setattr(reader, "STREAM_FROM", stream_from)
    packs = [packed(repository, CONTENT, b"%d" % number) for number in range(3)]
    oid = object_id(ObjectType.BLOB, CONTENT)
    for intact in packs:
        kept = {pack: pack.read_bytes() for pack in packs}
        for pack in packs:
            if pack != intact:
                spoil(pack)
        objects = Objects(str(repository))
        assert objects.read(oid) == b"".join(objects.chunks(oid)) == CONTENT
        assert objects.is_sound(oid)
        for pack, content in kept.items():
            damage.put(str(pack), content)


def test_where_all_copies_are_damaged_that_is_said(repository: Path):
    """And not the content of any of them."""
    for pack in [packed(repository, CONTENT, b"%d" % number) for number in range(2)]:
        spoil(pack)
    objects = Objects(str(repository))
    oid = object_id(ObjectType.BLOB, CONTENT)
    assert objects.has(oid)
    assert not objects.is_sound(oid)
    with pytest.raises(StoreDamaged):
        objects.read(oid)


@pytest.mark.parametrize(
    ("claimed", "made"), [(2**60, 10), (80 * MEGABYTE, 80 * MEGABYTE), (100, 80 * MEGABYTE)]
)
def test_a_bomb_takes_no_memory(repository: Path, claimed: int, made: int):
    """A few kilobytes that claim to be gigabytes, or are, must not end the daemon."""
    squeeze = zlib.compressobj(9)
    zeros = bytes(MEGABYTE)
    stream = b"".join(squeeze.compress(zeros) for _ in range(made // MEGABYTE)) + squeeze.flush()
    oid = os.urandom(20)
    body = struct.pack(">4sII", b"PACK", 2, 1) + encode_header(ObjectType.BLOB, claimed) + stream
    checksum = hashlib.sha1(body).digest()
    stem = repository / "objects" / "pack" / f"pack-{checksum.hex()}"
    stem.with_suffix(".pack").write_bytes(body + checksum)
    stem.with_suffix(".idx").write_bytes(
        b"".join(encode_index([oid], array("I", [0]), array("Q", [12]), checksum))
    )
    objects = Objects(str(repository))
    tracemalloc.start()
    with pytest.raises(StoreDamaged):
        objects.read(oid)
    with pytest.raises(StoreDamaged):
        sum(len(piece) for piece in objects.chunks(oid))
    assert not objects.is_sound(oid)
    assert tracemalloc.get_traced_memory()[1] < 20 * MEGABYTE
    tracemalloc.stop()
