"""How much may be written is asked before it is written, and what a store takes on the disk is known at any time."""

import os
import random
from pathlib import Path

import pytest

from backtrail.errors import StoreFull
from backtraild.store import Store, pack
from support.drafts import save


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.create(str(tmp_path / "repo.git"))


def on_disk(store: Store) -> int:
    """Every file once, whatever names it has."""
    with os.scandir(os.path.join(store.git_dir, "objects/pack")) as entries:
        return sum({entry.inode(): entry.stat().st_size for entry in entries}.values())


@pytest.mark.parametrize("spill_size", [100, 4 * 1024 * 1024], ids=["spilled", "buffered"])
def test_the_size_of_the_packs_is_known_without_looking(
    store: Store, spill_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is compared with the cap at every save."""
    monkeypatch.setattr(pack, "SPILL_SIZE", spill_size)
    assert store.pack_bytes == 0
    for number in range(4):
        save(store, {b"a": random.Random(number).randbytes(1000)})
        assert store.pack_bytes == on_disk(store)
    store.delete_many([1, 4])
    assert store.pack_bytes == on_disk(store) == Store(store.git_dir).pack_bytes


@pytest.mark.parametrize("spill_size", [100, 4 * 1024 * 1024], ids=["spilled", "buffered"])
def test_every_byte_is_asked_for_before_it_is_written(
    store: Store, spill_size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cap that is checked afterwards is no cap."""
    monkeypatch.setattr(pack, "SPILL_SIZE", spill_size)
    asked: list[int] = []

    def room(size: int) -> None:
        assert store.pack_bytes == on_disk(store) == sum(asked)
        asked.append(size)

    store.room = room
    save(store, {b"a": random.Random(1).randbytes(1000), b"b": b"2"})
    assert sum(asked) == on_disk(store)


@pytest.mark.parametrize("limit", [1, 500, 1500, 2300])
def test_a_save_without_room_is_refused_and_leaves_nothing(
    store: Store, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first bytes, those in the middle, and the index: wherever it ends, the space is given back."""
    monkeypatch.setattr(pack, "SPILL_SIZE", 400)
    before = store.pack_bytes

    def room(size: int) -> None:
        if store.pack_bytes + size > limit:
            raise StoreFull(f"There is room for {limit} bytes only.", "Make more.")

    store.room = room
    with pytest.raises(StoreFull) as caught:
        save(store, {b"a": random.Random(1).randbytes(1000), b"b": b"2"})
    assert caught.value.code == "store-full"
    assert on_disk(store) == store.pack_bytes == before
    assert store.numbers == []
    store.room = None
    assert save(store, {b"a": random.Random(1).randbytes(1000)}).number == 1


def test_what_conversations_write_is_asked_for_too(store: Store) -> None:
    """They grow without a checkpoint being made."""
    asked: list[int] = []
    store.room = asked.append
    writer = store.named.new_pack()
    tree = store.named.add_tree(writer, {})
    store.named.publish("refs/transcripts/one", writer, tree, "said")
    assert sum(asked) == on_disk(store)
