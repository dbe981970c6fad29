"""Trees and commits larger than any can be: refused by what they say of themselves, before they are inflated."""

import hashlib
import tracemalloc
from pathlib import Path

import pytest

from backtrail.errors import StoreDamaged
from backtraild.store import Store
from backtraild.store.objects import LARGEST, ObjectType, hash_prefix
from backtraild.store.reader import Objects
from support.bombs import MEGABYTE, delta, plain, write_entries, write_loose, zeros

SIZE = 16 * MEGABYTE
HALF = SIZE // 2


@pytest.fixture
def git_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in which half of SIZE is the most that a tree or a commit may have."""
    for kind in LARGEST:
        monkeypatch.setitem(LARGEST, kind, HALF)
    Store.create(str(tmp_path / "repo.git"))
    return tmp_path / "repo.git"


def oid_of(kind: ObjectType) -> bytes:
    return hashlib.sha1(hash_prefix(kind, SIZE) + bytes(SIZE)).digest()


def check_refused(git_dir: Path, oid: bytes, kind: ObjectType) -> None:
    objects = Objects(str(git_dir))
    tracemalloc.start()
    try:
        with pytest.raises(StoreDamaged, match="larger than any of its type"):
            objects.read(oid, kind)
        assert tracemalloc.get_traced_memory()[1] < MEGABYTE, "it was inflated"
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", [ObjectType.TREE, ObjectType.COMMIT])
@pytest.mark.parametrize("place", ["packed", "loose"])
def test_an_object_beyond_the_size_of_its_type_is_not_inflated(git_dir: Path, kind: ObjectType, place: str):
    """Its id is right, so that only its size tells that nobody ever had such a folder."""
    oid = oid_of(kind)
    if place == "packed":
        write_entries(git_dir, [(oid, plain(kind, SIZE, zeros(SIZE)))])
    else:
        write_loose(git_dir, oid, zeros(SIZE, hash_prefix(kind, SIZE)))
    check_refused(git_dir, oid, kind)


def test_a_delta_that_makes_more_than_its_type_can_be_is_not_applied(git_dir: Path):
    """A few bytes that say `again` a hundred times are cheaper still."""
    base, oid, megabyte = b"\xbb" * 20, b"\xcc" * 20, 0xFFFFF
    write_entries(
        git_dir,
        [
            (base, plain(ObjectType.TREE, megabyte, zeros(megabyte))),
            (oid, delta(base, megabyte, 100)),
        ],
    )
    check_refused(git_dir, oid, ObjectType.TREE)
