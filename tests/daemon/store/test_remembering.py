"""What is read more than once in a row is found and read once."""

import hashlib
import os
from array import array
from collections import Counter
from pathlib import Path

import pytest

from backtraild.store import indexes, reader
from backtraild.store.indexes import SMALL_PACK, PackIndex
from backtraild.store.pack import encode_index
from backtraild.store.reader import Objects
from support.packs import write_pack
from support.project import Project


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often files of packs are read."""
    counted: Counter[str] = Counter()
    read = indexes.File.read

    def count(file: indexes.File, length: int, offset: int) -> bytes:
        counted["reads"] += 1
        return read(file, length, offset)

    monkeypatch.setattr(indexes.File, "read", count)
    return counted


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "objects/pack").mkdir(parents=True)
    return tmp_path


def large_pack(repository: Path) -> list[bytes]:
    return list(write_pack(repository, [b"%d" % number for number in range(SMALL_PACK + 1)]))


def test_size_and_content_of_an_object_are_found_once(repository: Path, reads: Counter[str]):
    """A restore asks for the size first: to look it up again would be half of what reading it takes."""
    oid, *_ = large_pack(repository)
    objects = Objects(str(repository))
    reads.clear()
    assert objects.size(oid) == 1
    assert b"".join(objects.chunks(oid)) == b"0"
    assert reads["reads"] == 2  # the index, which is small, and header and content at once


def test_a_content_that_is_compared_is_found_and_read_once(repository: Path, reads: Counter[str]):
    """Each side of a diff is small or not compared at all: to ask for its size first must cost nothing."""
    oid, *_, last = large_pack(repository)
    objects = Objects(str(repository))
    reads.clear()
    assert objects.read_up_to(1, oid) == b"0"
    assert reads["reads"] == 2  # the index, which is small, and header and content at once
    assert objects.read_up_to(len(b"%d" % SMALL_PACK) - 1, last) is None
    assert objects.read_up_to(len(b"%d" % SMALL_PACK), last) == b"%d" % SMALL_PACK


def test_content_is_kept_as_long_as_somebody_needs_it_again(repository: Path, reads: Counter[str]):
    """A restored file is written, and then told line by line."""
    oid, *_ = large_pack(repository)
    objects = Objects(str(repository))
    with objects.remembering():
        first = objects.read_blob(oid)
        reads.clear()
        assert objects.read_blob(oid) is first
        assert objects.size(oid) == len(first)
        assert not reads
    assert objects.read_blob(oid) == first
    assert reads


def test_no_more_is_kept_than_there_is_room_for_and_what_came_first_stays(
    repository: Path, reads: Counter[str], monkeypatch: pytest.MonkeyPatch
):
    """Files as large as the memory are restored, too; those that are told first were written first."""
    monkeypatch.setattr(reader, "REMEMBERED_BYTES", 5)
    contents = write_pack(repository, [b"four", b"two", b"!"])
    objects = Objects(str(repository))
    with objects.remembering():
        assert [objects.read_blob(oid) for oid in contents] == list(contents.values())
        is_kept = []
        for oid, content in contents.items():
            reads.clear()
            assert objects.read_blob(oid) == content
            is_kept.append(not reads)
        assert is_kept == [True, False, True]


def test_bytes_that_lie_across_two_ids_are_no_id(tmp_path: Path):
    """Ids are found by their bytes, but only where one begins."""
    first, second = bytes([7, *[1] * 9, 7, *[9] * 9]), bytes([7, *[2] * 19])
    across = first[10:] + second[:10]
    assert index_of(tmp_path / "two", [first, second]).find(across) is None
    assert index_of(tmp_path / "three", [first, second, across]).find(across) == 2


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No index is small enough to be read while somebody waits."""
    monkeypatch.setattr(indexes, "QUESTION_BYTES", 0)


@pytest.mark.usefixtures("unhurried")
def test_an_index_that_is_asked_often_is_kept_in_memory(tmp_path: Path, reads: Counter[str]):
    """What the system forgets of it in a minute, a save would wait for, in several places."""
    ids = sorted(hashlib.sha1(bytes([number % 256, number // 256])).digest() for number in range(1000))
    index = index_of(tmp_path / "many", ids[:-1])
    for oid in ids[: indexes.ASKED_OFTEN]:
        assert not index.should_be_at_hand
        index.find(oid)
    assert index.should_be_at_hand
    index.take_at_hand()
    assert not index.should_be_at_hand
    reads.clear()
    assert [index.find(oid) for oid in ids] == [*range(999), None]
    assert not reads


def test_an_index_is_read_at_once_where_all_questions_so_far_took_as_long(
    tmp_path: Path, reads: Counter[str], monkeypatch: pytest.MonkeyPatch
):
    """Hundreds of files in one save ask it a thousand times; one file does not wait for megabytes."""
    monkeypatch.setattr(indexes, "QUESTION_BYTES", 100)
    ids = sorted(hashlib.sha1(bytes([number])).digest() for number in range(256))
    index = index_of(tmp_path / "some", ids)
    enough = -(-os.path.getsize(tmp_path / "some") // 100)
    for number in range(enough - 1):
        assert index.find(ids[number]) == number
    assert reads.total() >= enough - 1
    index.find(ids[0])
    reads.clear()
    assert [index.find(oid) for oid in ids] == list(range(256))
    assert not reads


@pytest.mark.usefixtures("unhurried")
@pytest.mark.parametrize("why", ["too large", "cut off"])
def test_an_index_that_is_not_kept_is_read_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str
):
    """Memory is not for indexes of many millions, nor for half of one."""
    ids = [bytes([number]) * 20 for number in range(100)]
    index = index_of(tmp_path / "some", ids)
    if why == "too large":
        monkeypatch.setattr(indexes, "MOST_AT_HAND", 100)
    for oid in ids[: indexes.ASKED_OFTEN]:
        index.find(oid)
    assert index.should_be_at_hand == (why == "cut off")
    content = (tmp_path / "some").read_bytes()
    if why == "cut off":
        os.truncate(tmp_path / "some", 1500)
        index.take_at_hand()
        (tmp_path / "some").write_bytes(content)
    assert [index.find(oid) for oid in ids] == list(range(100))


@pytest.mark.usefixtures("unhurried")
def test_a_store_keeps_its_large_index_once_nobody_waits(tmp_path: Path):
    """After some saves, or questions, and at no other time than when a save is settled."""
    with Project(tmp_path) as project:
        for number in range(SMALL_PACK + 1):
            project.write(f"{number}", b"%d" % number)
        project.workspace.start()
        (index,) = project.workspace.store.objects._packs._finder._large.values()
        for number in range(indexes.ASKED_OFTEN):
            project.write("0", b"again %d" % number)
            project.save()
        project.workspace.settle(lambda: True)
        assert index.should_be_at_hand, "somebody waits"
        project.workspace.settle()
        assert not index.should_be_at_hand
        project.write("1", b"once more")
        project.check(project.save())


def index_of(path: Path, ids: list[bytes]) -> PackIndex:
    """An index in which the objects lie at 0, 1, 2, …"""
    count = len(ids)
    parts = encode_index(ids, array("I", [0] * count), array("Q", range(count)), bytes(20))
    path.write_bytes(b"".join(parts))
    return PackIndex(str(path))
