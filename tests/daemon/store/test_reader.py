"""Reading objects, intact and damaged: exact content or StoreDamaged, never anything else, never a hang."""

import errno
import hashlib
import os
import random
import shutil
import subprocess
import sys
import zlib
from array import array
from collections.abc import Callable
from pathlib import Path

import pygit2
import pytest

from backtrail.errors import StoreDamaged, StoreFailed
from backtraild.model import FILE_MODE, Entry
from backtraild.store import indexes, loose, pack, packs, reader, stream
from backtraild.store.indexes import Finder, PackIndex
from backtraild.store.objects import EMPTY_TREE, ObjectType, encode_tree, object_id
from backtraild.store.pack import PackWriter
from backtraild.store.packed import encode_header
from backtraild.store.reader import Objects
from backtraild.store.troubles import DiskFailed
from support import damage
from support.descriptors import none_left
from support.faults import FaultyOs
from support.packs import blobs, nothing_known, write_pack

Git = Callable[..., bytes]


@pytest.fixture
def repository(tmp_path: Path, git: Git) -> Path:
    git("init", "-q", "--bare", tmp_path / "store.git")
    return tmp_path / "store.git"


def similar_blobs() -> list[bytes]:
    """Texts that git stores as deltas of each other, and a few that stand alone."""
    source = random.Random(5)
    text = [b"%d: %x\n" % (at, source.getrandbits(60)) for at in range(60)]
    versions = []
    for _ in range(6):
        text[source.randrange(60)] = b"changed %x\n" % source.getrandbits(60)
        versions.append(b"".join(text))
    return [*versions, b"", b"x", b"small\n" * 20, b"zeros" + bytes(3000)]


def keep_all(repository: Path, ids: list[bytes], git: Git) -> None:
    """Refs, so that git's own commands do not drop the objects."""
    lines = [f"create refs/test/{number} {oid.hex()}\n" for number, oid in enumerate(ids)]
    git("update-ref", "--stdin", git_dir=repository, input="".join(lines).encode())


def make_loose(repository: Path) -> None:
    """Unpack by hand: every object of the one pack becomes a loose file."""
    for oid, content in write_pack(repository, similar_blobs()).items():
        write_loose(repository, oid, content)
    shutil.rmtree(repository / "objects" / "pack")
    (repository / "objects" / "pack").mkdir()


def repack_with_libgit2(repository: Path, ids: list[bytes]) -> None:
    """Its deltas name their bases by id, those of git by distance."""
    folder = repository / "objects" / "pack"
    old = list(folder.iterdir())
    opened = pygit2.Repository(str(repository))

    def choose(builder: pygit2.PackBuilder) -> None:
        for oid in ids:
            builder.add(pygit2.Oid(raw=oid))

    opened.pack(folder, choose)
    for path in old:
        path.unlink()


def write_loose(repository: Path, oid: bytes, content: bytes, kind: bytes = b"blob") -> Path:
    path = repository / "objects" / oid.hex()[:2] / oid.hex()[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(zlib.compress(b"%s %d\0%s" % (kind, len(content), content)))
    return path


@pytest.mark.parametrize("layout", ["own pack", "git's deltas", "libgit2's deltas", "loose"])
@pytest.mark.parametrize("small_pack", [0, 300], ids=["looked up", "remembered"])
def test_no_damage_is_taken_for_content_or_ends_the_daemon(
    layout: str, small_pack: int, repository: Path, git: Git
) -> None:
    """Disks rot. A restore must write what was saved or say that it can't, and the daemon must live on."""
    found = write_pack(repository, similar_blobs())
    if layout == "git's deltas":
        keep_all(repository, list(found), git)
        git("repack", "-adfq", git_dir=repository)
    elif layout == "libgit2's deltas":
        repack_with_libgit2(repository, list(found))
    elif layout == "loose":
        make_loose(repository)
    if "deltas" in layout:
        (index,) = (repository / "objects" / "pack").glob("*.idx")
        assert b"chain length" in git("verify-pack", "-v", index, git_dir=repository)
    (repository / "expected").mkdir()
    for oid, content in found.items():
        (repository / "expected" / oid.hex()).write_bytes(content)
    command = [sys.executable, damage.__file__, str(repository), "20240607", "250", str(small_pack)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"status {done.returncode}\n{done.stdout}\n{done.stderr[-2000:]}"


@pytest.mark.parametrize("stream_from", [1, reader.STREAM_FROM])
def test_content_comes_back_as_it_went_in(
    stream_from: int, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole or in pieces, a restored file is the saved file."""
    monkeypatch.setattr(reader, "STREAM_FROM", stream_from)
    monkeypatch.setattr(stream, "PIECE", 64)
    monkeypatch.setattr(stream, "FIRST_READ", 64)
    found = write_pack(repository, blobs(seed=3))
    objects = Objects(str(repository))
    for oid, content in found.items():
        assert objects.has(oid)
        assert objects.read_blob(oid) == content
        assert b"".join(objects.chunks(oid)) == content
        assert objects.size(oid) == len(content)
    assert not objects.has(bytes(20))


def test_a_large_blob_comes_in_small_pieces(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restoring a file must not need its size in memory, also where it deflates by a thousand to one."""
    monkeypatch.setattr(reader, "STREAM_FROM", 1000)
    (oid,) = write_pack(repository, [bytes(10 * stream.PIECE + 5)])
    lengths = [len(piece) for piece in Objects(str(repository)).chunks(oid)]
    assert max(lengths) <= stream.PIECE
    assert sum(lengths) == 10 * stream.PIECE + 5


def test_a_large_blob_in_a_delta_is_read_whole(
    repository: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After maintenance, large files must still come back."""
    monkeypatch.setattr(reader, "STREAM_FROM", 1000)
    found = write_pack(repository, similar_blobs())
    keep_all(repository, list(found), git)
    git("repack", "-adfq", git_dir=repository)
    objects = Objects(str(repository))
    assert {oid: b"".join(objects.chunks(oid)) for oid in found} == found
    assert {oid: objects.size(oid) for oid in found} == {oid: len(content) for oid, content in found.items()}


@pytest.mark.parametrize("ring", [1, 2, 5])
def test_deltas_in_a_circle_are_damage(ring: int, repository: Path) -> None:
    """libgit2 follows such a circle for ever, with Python's lock held."""
    ids = [bytes([number + 1]) * 20 for number in range(ring)]
    body, offsets = bytearray(b"PACK\0\0\0\2" + ring.to_bytes(4)), array("Q")
    for number in range(ring):
        offsets.append(len(body))
        delta = bytes([10, 10, 0x90, 10])
        body += bytes([7 << 4 | len(delta)]) + ids[(number + 1) % ring] + zlib.compress(delta)
    checksum = hashlib.sha1(body).digest()
    stem = repository / "objects" / "pack" / f"pack-{checksum.hex()}"
    stem.with_suffix(".pack").write_bytes(body + checksum)
    index = pack.encode_index(ids, array("I", bytes(4 * ring)), offsets, checksum)
    stem.with_suffix(".idx").write_bytes(b"".join(index))
    objects = Objects(str(repository))
    for oid in ids:
        with pytest.raises(StoreDamaged, match="circle"):
            objects.read_blob(oid)


@pytest.mark.parametrize("small_pack", [0, 300])
def test_every_object_among_many_is_found_and_no_other(
    small_pack: int, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first checkpoint is one pack with everything; ids that begin alike must not be mistaken."""
    monkeypatch.setattr(indexes, "SMALL_PACK", small_pack)
    found = write_pack(repository, [b"%d" % number for number in range(3000)])
    found |= write_pack(repository, [b"few %d" % number for number in range(10)])
    objects = Objects(str(repository))
    assert all(map(objects.has, found))
    assert all(objects.read_blob(oid) == content for oid, content in found.items())
    near = [bytes([*oid[:-1], oid[-1] ^ 1]) for oid in found] + [bytes(20), b"\xff" * 20]
    assert not any(map(objects.has, near))


def test_what_small_packs_hold_is_remembered_up_to_a_limit_and_found_beyond_it(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of checkpoints of many files between two rounds of upkeep must not take all memory."""
    monkeypatch.setattr(indexes, "MOST_REMEMBERED", 25)
    found = write_pack(repository, [b"first %d" % number for number in range(10)])
    finder = Finder(str(repository / "objects/pack"))
    finder.refresh()
    for name in range(3):
        new = write_pack(repository, [b"%d %d" % (name, number) for number in range(10)])
        (stem,) = {path.stem for path in (repository / "objects/pack").glob("*.idx")} - finder._names
        finder.added(stem, PackIndex(finder.path(stem, ".idx")).all())
        found |= new
    assert len(finder._small) == 20
    for each in (finder, Finder(str(repository / "objects/pack"))):
        each.refresh()
        assert len(each._small) <= 25
        assert all(each.find(oid) for oid in found)
        assert {oid for oid, _ in each.all()} == set(found)


def test_objects_that_maintenance_moved_are_found_again(repository: Path, git: Git) -> None:
    """Packs are merged while the daemon runs; what was read from an old one is read from the new one."""
    found = write_pack(repository, similar_blobs()) | write_pack(repository, [b"another pack"])
    objects = Objects(str(repository))
    assert objects.read_blob(next(iter(found)))
    keep_all(repository, list(found), git)
    git("repack", "-adq", git_dir=repository)
    assert {oid: objects.read_blob(oid) for oid in found} == found
    assert {oid: objects.size(oid) for oid in found} == {oid: len(content) for oid, content in found.items()}


def test_objects_of_a_pack_that_is_gone_are_not_known(repository: Path) -> None:
    """Maintenance drops what no checkpoint holds; a save that needs it again must store it again."""
    (oid,) = write_pack(repository, [b"dropped"])
    objects = Objects(str(repository))
    assert objects.has(oid)
    for path in (repository / "objects" / "pack").iterdir():
        path.unlink()
    with pytest.raises(StoreDamaged, match="missing"):
        objects.read_blob(oid)
    assert not objects.has(oid)


def test_an_index_without_its_pack_is_no_store_of_anything(repository: Path) -> None:
    """What is said to be known is not stored again: it must really be there."""
    (oid,) = write_pack(repository, [b"lost"])
    (path,) = (repository / "objects" / "pack").glob("*.pack")
    path.unlink()
    assert not Objects(str(repository)).has(oid)


def test_an_offset_behind_two_gigabytes_is_followed(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second table of an index is rarely seen; a large first checkpoint needs it."""
    monkeypatch.setattr(reader, "STREAM_FROM", 1000)
    content = random.Random(4).randbytes(5000)
    oid, checksum = object_id(ObjectType.BLOB, content), b"\7" * 20
    stem = repository / "objects" / "pack" / f"pack-{checksum.hex()}"
    far = 3 * 2**30
    with stem.with_suffix(".pack").open("wb") as file:  # sparse: nothing of the 3 GB is on the disk
        file.write(b"PACK\0\0\0\2\0\0\0\1")
        file.seek(far)
        file.write(encode_header(ObjectType.BLOB, 5000) + zlib.compress(content) + checksum)
    stem.with_suffix(".idx").write_bytes(
        b"".join(pack.encode_index([oid], array("I", [0]), array("Q", [far]), checksum))
    )
    objects = Objects(str(repository))
    assert b"".join(objects.chunks(oid)) == content
    assert objects.read_blob(oid) == content


def test_an_object_in_the_place_of_another_is_refused(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Packs are checked by their own sums only: content of another file would pass, but for its id."""
    contents = [b"one" * 500, b"two" * 500]
    first, second = (object_id(ObjectType.BLOB, content) for content in contents)
    lying = {contents[0]: second, contents[1]: first}
    monkeypatch.setattr(pack, "object_id", lambda _, content: lying[content])
    writer = PackWriter(str(repository / "objects" / "pack"), nothing_known)
    for content in contents:
        writer.add_blob(content)
    writer.finish()
    for stream_from in (1, reader.STREAM_FROM):
        monkeypatch.setattr(reader, "STREAM_FROM", stream_from)
        objects = Objects(str(repository))
        for oid in (first, second):
            with pytest.raises(StoreDamaged, match="its content has changed"):
                objects.read_blob(oid)
            with pytest.raises(StoreDamaged, match="its content has changed"):
                list(objects.chunks(oid))


def test_a_loose_object_in_the_place_of_another_is_refused(repository: Path) -> None:
    """The same for files that git commands left in the store."""
    oid = object_id(ObjectType.BLOB, b"mine")
    write_loose(repository, oid, b"yours")
    with pytest.raises(StoreDamaged, match="its content has changed"):
        Objects(str(repository)).read_blob(oid)


def test_an_object_of_another_type_is_refused(repository: Path) -> None:
    """A tree where a file is expected would put a list of files into the user's file."""
    writer = PackWriter(str(repository / "objects" / "pack"), nothing_known)
    tree = writer.add(ObjectType.TREE, encode_tree({b"x": Entry(FILE_MODE, bytes(20))}))
    writer.finish()
    objects = Objects(str(repository))
    with pytest.raises(StoreDamaged, match="another type"):
        objects.read_blob(tree)
    write_loose(repository, object_id(ObjectType.BLOB, b"loose"), b"loose", kind=b"tree")
    with pytest.raises(StoreDamaged, match="another type"):
        objects.read_blob(object_id(ObjectType.BLOB, b"loose"))


LOOSE = """
import sys
from backtraild.store.reader import Objects
from backtrail.errors import StoreDamaged
try:
    Objects(sys.argv[1]).read_blob(bytes.fromhex(sys.argv[2]))
except StoreDamaged:
    print("refused")
"""


@pytest.mark.parametrize("left", [0, 1, 2, 10, 500])
def test_a_truncated_loose_object_does_not_hang_the_daemon(left: int, repository: Path) -> None:
    """libgit2 spins for ever on such a file, with Python's lock held: it must never be asked."""
    content = random.Random(6).randbytes(2000)
    oid = object_id(ObjectType.BLOB, content)
    path = write_loose(repository, oid, content)
    path.write_bytes(path.read_bytes()[:left])
    command = [sys.executable, "-c", LOOSE, str(repository), oid.hex()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.stdout == "refused\n", done.stderr


def test_loose_objects_of_git_commands_are_read(repository: Path, git: Git) -> None:
    """Somebody ran `git gc` or `git unpack-objects` on the store: its checkpoints are still there."""
    oid = bytes.fromhex(git("hash-object", "-w", "--stdin", git_dir=repository, input=b"by hand").decode())
    objects = Objects(str(repository))
    assert objects.read_blob(oid) == b"by hand"
    assert list(objects.chunks(oid)) == [b"by hand"]
    assert objects.size(oid) == 7


def test_a_loose_object_that_is_no_file_is_damage(repository: Path) -> None:
    """Errors of the operating system while reading are reported like any other damage."""
    oid = object_id(ObjectType.BLOB, b"x")
    (repository / "objects" / oid.hex()[:2] / oid.hex()[2:]).mkdir(parents=True)
    with pytest.raises(StoreDamaged):
        Objects(str(repository)).read_blob(oid)


def test_a_loose_object_that_unpacks_without_end_is_refused(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few kilobytes must not be able to take all memory."""
    monkeypatch.setattr(loose, "MAX_SIZE", 10_000)
    oid = object_id(ObjectType.BLOB, bytes(1_000_000))
    write_loose(repository, oid, bytes(1_000_000))
    with pytest.raises(StoreDamaged):
        Objects(str(repository)).read_blob(oid)


def test_a_pack_made_after_opening_is_found(repository: Path) -> None:
    """Every save makes a pack; the next diff reads from it without reopening anything."""
    objects = Objects(str(repository))
    (oid,) = write_pack(repository, [b"later"])
    assert not objects.has(oid)
    (name,) = [path.stem for path in (repository / "objects" / "pack").glob("*.idx")]
    objects.added(name)
    assert objects.has(oid)
    assert objects.read_blob(oid) == b"later"
    (another,) = write_pack(repository, [b"later still"])
    assert objects.size(another) == 11
    assert objects.has(oid)


def test_trees_in_memory_stay_within_their_limit(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folders of a million files do not fit into memory; those used last do."""
    monkeypatch.setattr(reader, "TREE_CACHE_BYTES", 300)
    writer = PackWriter(str(repository / "objects" / "pack"), nothing_known)
    contents = [
        encode_tree({b"f%d" % number: Entry(FILE_MODE, bytes(20)) for number in range(count)})
        for count in range(20)
    ]
    ids = [writer.add(ObjectType.TREE, content) for content in contents]
    writer.finish()
    objects = Objects(str(repository))
    for _ in range(2):
        for count, oid in enumerate(ids):
            assert len(objects.read_tree(oid)) == count
            assert sum(len(content) for content, _ in objects._trees._values.values()) <= 300
    assert objects.read_tree(EMPTY_TREE) == {}


def test_a_tree_read_from_memory_is_a_copy(repository: Path) -> None:
    """Rebuilding edits what it reads: that must not change what the next save reads."""
    objects = Objects(str(repository))
    content = encode_tree({b"a": Entry(FILE_MODE, bytes(20))})
    oid = object_id(ObjectType.TREE, content)
    objects.keep_tree(oid, content)
    objects.read_tree(oid).clear()
    assert objects.read_tree(oid) == {b"a": Entry(FILE_MODE, bytes(20))}


def test_a_missing_object_is_named(repository: Path) -> None:
    """The report must say which object is gone and what can be done."""
    objects = Objects(str(repository))
    for call in (objects.read_blob, objects.size, lambda oid: list(objects.chunks(oid))):
        with pytest.raises(StoreDamaged, match=f"{'ab' * 20}.*missing") as caught:
            call(b"\xab" * 20)
        assert caught.value.hint


def test_descriptors_do_not_grow_with_the_number_of_packs(repository: Path) -> None:
    """Ten thousand checkpoints are ten thousand packs; a process has a thousand descriptors."""
    ids = [next(iter(write_pack(repository, [b"%d" % number]))) for number in range(150)]
    objects = Objects(str(repository))
    before = len(os.listdir("/proc/self/fd"))
    for oid in ids:
        objects.read_blob(oid)
    assert len(os.listdir("/proc/self/fd")) - before <= packs.OPEN_PACKS < 150
    del objects
    assert len(os.listdir("/proc/self/fd")) <= before


def test_an_index_that_could_not_be_opened_once_is_opened_the_next_time(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    """A process without descriptors for a moment must not take its own checkpoints for lost until it ends."""
    objects = Objects(str(repository))
    with monkeypatch.context() as patch:
        patch.setattr(indexes.File, "__init__", _no_descriptor)
        (oid, content), *_ = write_pack(repository, [b"content\n" * 9]).items()
        stem = next((repository / "objects" / "pack").glob("*.idx")).with_suffix("")
        objects.added(str(stem))
    assert objects.read_blob(oid) == content


def _no_descriptor(self: indexes.File, _: str) -> None:
    self._descriptor = -1
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.parametrize("small", [0, 300], ids=["index on disk", "index in memory"])
def test_what_can_only_not_be_read_now_is_no_damage(
    repository: Path, monkeypatch: pytest.MonkeyPatch, small: int
):
    """A process without descriptors must not take its checkpoints for lost, nor say so."""
    monkeypatch.setattr(indexes, "SMALL_PACK", small)
    (oid, content), *_ = write_pack(repository, [b"content\n" * 9]).items()
    objects = Objects(str(repository))
    with none_left():
        for ask in (objects.read_blob, objects.size, lambda oid: b"".join(objects.chunks(oid))):
            with pytest.raises(StoreFailed, match="can't be read now: Too many open files"):
                ask(oid)
        with pytest.raises(StoreFailed):
            objects.is_sound(oid)
    assert objects.read_blob(oid) == content


def test_what_the_disk_can_not_read_is_damage_that_may_pass(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    """A bad sector is stored again from the folder; but nobody knows that it will stay bad."""
    (oid, _), *_ = write_pack(repository, [b"content\n" * 9]).items()
    objects = Objects(str(repository))
    monkeypatch.setattr(indexes, "os", FaultyOs("pread", 1, errno.EIO, lasting=True))
    with pytest.raises(DiskFailed, match="Input/output error"):
        objects.read_blob(oid)
    assert not objects.is_sound(oid)


def test_a_pack_that_is_gone_is_damage(repository: Path):
    """Nobody brings it back by waiting."""
    (oid, _), *_ = write_pack(repository, [b"content\n" * 9]).items()
    objects = Objects(str(repository))
    next((repository / "objects" / "pack").glob("*.pack")).unlink()
    with pytest.raises(StoreDamaged, match="missing"):
        objects.read_blob(oid)
