"""What nobody needs any more costs the thread that saves next to nothing, and is gone in the end."""

import errno
import os
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed
from backtraild.store import Store, aside
from support.drafts import save
from support.upkeep import contents, pack_names, tidied, tidy_up


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store.create(str(tmp_path / "store.git"))
    for number in range(30):
        save(store, {b"file": b"%d" % number})
    return store


def test_old_packs_are_unlinked_by_the_process_of_upkeep_and_counted_until_then(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save that waits for thousands of files to be unlinked waits for seconds."""
    unlinked: list[str] = []
    real = os.unlink

    def noting(path: str) -> None:
        unlinked.append(path)
        real(path)

    found = tidied(store, store.begin_upkeep())
    before = store.pack_bytes
    monkeypatch.setattr(os, "unlink", noting)
    assert store.end_upkeep(found)
    monkeypatch.undo()
    assert len(pack_names(store.git_dir)) == 2
    assert not [path for path in unlinked if "/pack-" in path]
    assert store.pack_bytes > before
    store.sweep()
    assert store.pack_bytes == found.after
    assert os.listdir(Path(store.git_dir, aside.FOLDER)) == []


def test_where_nothing_can_be_moved_it_is_unlinked(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk has no place for one more entry of a folder, and needs the space the more."""
    found = tidied(store, store.begin_upkeep())
    rename = os.rename

    def full(source: str, target: str) -> None:
        if f"/{aside.FOLDER}/" in target:
            raise OSError(errno.ENOSPC, "No space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", full)
    assert store.end_upkeep(found)
    assert len(pack_names(store.git_dir)) == 2
    assert store.pack_bytes == found.after


def test_packs_that_stay_are_not_read_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a round among ten thousand packs, the next save would wait for all of them."""
    found = tidied(store, store.begin_upkeep()[:10])
    opened: list[str] = []
    real = os.open

    def noting(path: str, *rest: int) -> int:
        opened.append(path)
        return real(path, *rest)

    monkeypatch.setattr(os, "open", noting)
    assert store.end_upkeep(found)
    monkeypatch.undo()
    assert sum(path.endswith(".idx") for path in opened) <= 10 + 1  # of those that went, and of the new one
    assert contents(store, 30) == {b"file": b"29"}


def test_a_link_in_its_place_is_refused(store: Store, tmp_path: Path) -> None:
    """Whoever swept there would empty a folder of the link's choice."""
    tidy_up(store)
    os.rmdir(Path(store.git_dir, aside.FOLDER))
    Path(store.git_dir, aside.FOLDER).symlink_to(tmp_path)
    with pytest.raises(StoreFailed, match="symbolic link"):
        Store.create(store.git_dir)
