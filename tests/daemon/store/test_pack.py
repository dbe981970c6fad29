"""The pack writer against git: whatever way the bytes took, git must find the same objects in them."""

import os
import random
import struct
import subprocess
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backtraild.model import FILE_MODE, ContentMoved, Entry
from backtraild.store import deflating, pack, packed
from backtraild.store.objects import ObjectType, encode_tree, object_id
from backtraild.store.pack import PackWriter
from support.disk import fsck
from support.packs import blobs, nothing_known, pack_files, pieces

Git = Callable[..., bytes]
LARGE = 300_000  # enough for the compressor to give something before it has everything


@pytest.fixture
def repository(tmp_path: Path, git: Git) -> Path:
    git("init", "-q", "--bare", tmp_path / "store.git")
    return tmp_path / "store.git"


@pytest.fixture
def writer(repository: Path) -> Iterator[PackWriter]:
    made = PackWriter(str(repository / "objects" / "pack"), nothing_known)
    yield made
    made.abandon()


def objects_in(repository: Path, git: Git) -> dict[bytes, bytes]:
    """Every object that git itself finds, by id."""
    listing = git("cat-file", "--batch-all-objects", "--batch", git_dir=repository)
    found, position = {}, 0
    while position < len(listing):
        end = listing.index(b"\n", position)
        oid, _, size = listing[position:end].split()
        found[bytes.fromhex(oid.decode())] = listing[end + 1 : end + 1 + int(size)]
        position = end + 1 + int(size) + 1
    return found


def assert_git_accepts(repository: Path, git: Git) -> None:
    """Git reads the pack, finds our index to be the one it would have made, and has no complaint."""
    for path in pack_files(repository):
        if path.suffix == ".pack":
            again = repository / "again.idx"
            git("index-pack", "--strict", "--no-rev-index", "-o", again, path, git_dir=repository)
            assert path.with_suffix(".idx").read_bytes() == again.read_bytes()
            git("verify-pack", path, git_dir=repository)
    fsck(repository)


def moving(first: bytes, second: bytes) -> Callable[[], Iterator[bytes]]:
    """A file that is rewritten between its two readings."""
    readings = iter([first, second])
    return lambda: pieces(next(readings), 10_000)()


@pytest.mark.parametrize("spill_size", [1, 100, 5000, 4 * 1024 * 1024])
@pytest.mark.parametrize("module", ["isal", "zlib"])
def test_git_accepts_a_pack_whatever_its_way_to_the_disk(
    spill_size: int,
    module: str,
    repository: Path,
    writer: PackWriter,
    git: Git,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A checkpoint must be readable by git alone, on machines with and without ISA-L, small or large."""
    monkeypatch.setattr(pack, "SPILL_SIZE", spill_size)
    if module == "zlib":
        monkeypatch.setattr(pack, "deflate", zlib)
    contents = blobs(seed=spill_size)
    expected = {}
    for number, content in enumerate(contents):
        streamed = number % 3 == 0
        oid = writer.add_blob_stream(len(content), pieces(content)) if streamed else writer.add_blob(content)
        expected[oid] = content
    tree = encode_tree({b"file %d" % at: Entry(FILE_MODE, oid) for at, oid in enumerate(expected)})
    expected[writer.add(ObjectType.TREE, tree)] = tree
    stem = writer.finish()
    assert stem is not None
    assert objects_in(repository, git) == expected
    assert_git_accepts(repository, git)


@pytest.mark.skipif(
    pack.deflate is zlib, reason="ISA-L is not installed here, zlib is what the other tests use"
)
def test_the_fast_deflate_is_used_where_there_is_one() -> None:
    """The speed bars were measured with it; falling back unseen would break them unseen."""
    assert pack.deflate.__name__ == "isal.isal_zlib"


def test_the_same_content_is_stored_once(repository: Path, writer: PackWriter, git: Git) -> None:
    """A hundred copies of a folder must not cost a hundred times the space; twice in an index is damage."""
    content = b"the same" * 100
    ids = {writer.add_blob(content), writer.add_blob(content), writer.add_blob_stream(800, pieces(content))}
    assert len(ids) == len(writer) == 1
    writer.finish()
    assert objects_in(repository, git) == {ids.pop(): content}
    assert_git_accepts(repository, git)


def test_what_the_store_knows_is_not_stored_again(repository: Path, git: Git) -> None:
    """A save costs what changed: content that is in an older checkpoint is only pointed at."""
    known = object_id(ObjectType.BLOB, b"old")
    writer = PackWriter(str(repository / "objects" / "pack"), {known}.__contains__)
    assert writer.add_blob(b"old") == known
    assert writer.add_blob_stream(3, pieces(b"old")) == known
    fresh = writer.add_blob(b"new")
    assert writer.ids == {fresh}
    writer.finish()
    assert objects_in(repository, git) == {fresh: b"new"}


def test_a_pack_of_nothing_writes_nothing(repository: Path, writer: PackWriter) -> None:
    """A save that finds all content known must not leave an empty pack behind."""
    assert writer.finish() is None
    assert pack_files(repository) == []


@pytest.mark.parametrize("spill_size", [10, 4 * 1024 * 1024])
def test_an_abandoned_pack_leaves_no_file(
    spill_size: int, repository: Path, writer: PackWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save that failed half-way must not fill the disk."""
    monkeypatch.setattr(pack, "SPILL_SIZE", spill_size)
    writer.add_blob(os.urandom(1000))
    folder = repository / "objects" / "pack"
    assert len(os.listdir(folder)) == (1 if spill_size == 10 else 0)
    writer.abandon()
    writer.abandon()
    assert os.listdir(folder) == []


def test_abandoning_a_finished_pack_keeps_it(repository: Path, writer: PackWriter) -> None:
    """Callers abandon in `finally`: that must not take an acknowledged checkpoint away."""
    writer.add_blob(b"kept")
    writer.finish()
    writer.abandon()
    assert [path.suffix for path in pack_files(repository)] == [".idx", ".pack"]


@pytest.mark.parametrize("spill_size", [1, 700, 100_000, 4 * 1024 * 1024])
def test_content_can_be_read_before_the_pack_is_finished(
    spill_size: int, writer: PackWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Line counts are made from content that is still in the buffer, in the file, or in both."""
    monkeypatch.setattr(pack, "SPILL_SIZE", spill_size)
    contents = blobs(seed=2)
    contents += [random.Random(at).randbytes(LARGE) for at in range(3)]  # these lie over the border
    for content in contents:
        oid = writer.add_blob_stream(len(content), pieces(content, 10_000))
        assert writer.read_blob(oid) == content
        assert writer.blob_size(oid) == len(content)
    for content in contents:
        oid = object_id(ObjectType.BLOB, content)
        assert writer.read_blob(oid) == content
        assert writer.blob_size(oid) == len(content)
    assert writer.read_blob(bytes(20)) is None
    assert writer.blob_size(bytes(20)) is None


def test_a_streamed_object_does_lie_over_the_border(
    writer: PackWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the test above would not test what it says."""
    monkeypatch.setattr(pack, "SPILL_SIZE", 100_000)
    content = random.Random(0).randbytes(LARGE)
    writer.add_blob_stream(LARGE, pieces(content, 10_000))
    assert 100_000 < writer._spilled < LARGE < writer._position()


@pytest.mark.parametrize("spill_size", [1, 100_000, 4 * 1024 * 1024])
@pytest.mark.parametrize("moved", ["other", "short", "long", "gone"])
def test_a_file_that_moved_is_taken_back(
    spill_size: int,
    moved: str,
    repository: Path,
    writer: PackWriter,
    git: Git,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A torn file must not be stored, and must not spoil the files before and after it."""
    monkeypatch.setattr(pack, "SPILL_SIZE", spill_size)
    source = random.Random(spill_size)
    first, before, after = source.randbytes(LARGE), source.randbytes(400), source.randbytes(400)
    second = {"other": first[:-1] + b"?", "short": first[:-1], "long": first + b"?", "gone": b""}[moved]
    writer.add_blob(before)
    size = writer._position()
    with pytest.raises(ContentMoved):
        writer.add_blob_stream(LARGE, moving(first, second))
    assert writer._position() == size
    assert len(writer) == 1
    writer.add_blob(after)
    stem = writer.finish()
    assert stem is not None
    assert sorted(objects_in(repository, git).values()) == sorted([before, after])
    assert_git_accepts(repository, git)


def test_a_file_of_another_size_than_announced_is_not_stored(writer: PackWriter) -> None:
    """The size is hashed before the content: a wrong one would give an id that nobody can verify."""
    with pytest.raises(ContentMoved):
        writer.add_blob_stream(10, pieces(b"only nine"))
    assert len(writer) == 0


@pytest.mark.parametrize("spill_size", [1, 4 * 1024 * 1024])
def test_a_file_that_stops_to_be_readable_is_taken_back(
    spill_size: int, repository: Path, writer: PackWriter, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bad sector in one large file must not cost the checkpoint of all others."""
    monkeypatch.setattr(pack, "SPILL_SIZE", spill_size)
    content = random.Random(1).randbytes(LARGE)
    readings = iter([pieces(content)(), failing_after(content[:-1])])
    with pytest.raises(OSError, match="bad sector"):
        writer.add_blob_stream(LARGE, lambda: next(readings))
    oid = writer.add_blob(b"another file")
    writer.finish()
    assert objects_in(repository, git) == {oid: b"another file"}
    assert_git_accepts(repository, git)


def failing_after(content: bytes) -> Iterator[bytes]:
    yield content
    raise OSError("bad sector")


def test_the_files_of_a_pack_are_read_only_and_private(repository: Path, writer: PackWriter) -> None:
    """They hold copies of private files, whatever the umask is."""
    writer.add_blob(b"secret")
    writer.finish()
    assert [oct(path.stat().st_mode & 0o777) for path in pack_files(repository)] == ["0o400", "0o400"]


def test_offsets_beyond_two_gigabytes_go_into_the_second_table(git: Git) -> None:
    """A first checkpoint of a large folder is one pack; its index must find what lies behind 2 GiB."""
    offsets = [12, 2**31 - 1, 2**31, 2**40, 500]
    ids = [bytes([255 - number]) * 20 for number in range(len(offsets))]
    index = pack.encode_index(ids, array("I", range(5)), array("Q", offsets), bytes(20))
    shown = [line.split() for line in git("show-index", input=b"".join(index)).splitlines()]
    assert {row[1].decode(): int(row[0]) for row in shown} == {
        oid.hex(): offset for oid, offset in zip(ids, offsets, strict=True)
    }
    assert {row[1].decode(): row[2] for row in shown}[ids[3].hex()] == b"(00000003)"


@given(st.sampled_from(ObjectType), st.integers(0, 2**63))
def test_a_size_of_any_length_survives_the_header(kind: ObjectType, size: int) -> None:
    """The header grows with the size; one bit lost in it makes an object unreadable."""
    header = packed.encode_header(kind, size)
    assert len(header) <= packed.MAX_HEADER
    assert packed.decode_header(header + b"\xff" * 5) == (kind, size, len(header))


MEMORY = """
import os, re, sys
from backtraild.store.objects import ObjectType
from backtraild.store.pack import PackWriter
from backtraild.store.reader import Objects
repository, big, size = sys.argv[1], sys.argv[2], int(sys.argv[3])

def read():
    with open(big, "rb", buffering=0) as file:
        while piece := file.read(1 << 20):
            yield piece

writer = PackWriter(os.path.join(repository, "objects", "pack"), lambda oid: False)
oid = writer.add_blob_stream(size, read)
writer.finish()
objects = Objects(repository)
assert objects.size(oid) == size
assert sum(map(len, objects.chunks(oid))) == size
# Not ru_maxrss: that is never less than what the process that started this one had.
print(oid.hex(), int(re.search(r"VmHWM:\\s+([0-9]+)", open("/proc/self/status").read())[1]) // 1024)
"""


def test_memory_does_not_follow_the_size_of_a_file(tmp_path: Path, repository: Path, git: Git) -> None:
    """A disk image must not make the daemon as large as itself, neither at save nor at restore."""
    size = 300 * 1024 * 1024
    big = tmp_path / "big"
    with big.open("wb") as file:
        file.truncate(size)
        file.seek(size // 2)
        file.write(struct.pack(">Q", size))
    command = [sys.executable, "-c", MEMORY, str(repository), str(big), str(size)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    oid, megabytes = done.stdout.split()
    assert oid == git("hash-object", "--no-filters", big).decode().strip()
    assert int(megabytes) < 120


def test_the_first_bytes_of_a_pack_are_left_as_they_are_and_all_others_deflated(
    repository: Path, writer: PackWriter, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever saves a file waits for it; whoever saves ten thousand would wait for a disk full of them."""
    monkeypatch.setattr(pack, "SMALL_OBJECT", 1_000)
    monkeypatch.setattr(pack, "AS_IT_IS_BYTES", 3_500)
    monkeypatch.setattr(pack, "AS_IT_IS_BYTES_OF_LARGER", 1_500)
    contents = [b"", b"a" * 1_100, b"b" * 1_000, b"c" * 1_100, b"d" * 1_000, b"e" * 1_000, b"f"]
    for content in contents:
        writer.add(ObjectType.BLOB, content)
    writer.finish()
    (path,) = (path for path in pack_files(repository) if path.suffix == ".pack")
    written = path.read_bytes()
    assert [sign for sign in b"abcde" if b"%c" % sign * 1_000 in written] == [*b"abd"]
    assert_git_accepts(repository, git)
    assert objects_in(repository, git) == {
        object_id(ObjectType.BLOB, content): content for content in contents
    }


@given(st.binary(max_size=0xFFFF))
def test_what_is_left_as_it_is_can_be_inflated_by_everybody(content: bytes) -> None:
    """git, libgit2 and our own reader know nothing of it."""
    made = deflating.packed(ObjectType.BLOB, bytes(20), content, as_it_is=True)
    *_, used = packed.decode_header(made.content)
    for library in (zlib, deflating.deflate):
        assert library.decompress(made.content[used:]) == content
    assert made.checksum == zlib.crc32(made.content)
