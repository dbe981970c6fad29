"""Checkpoints that were acknowledged and not yet durable in every respect, after a power cut."""

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed
from backtraild import blanks, durable
from backtraild.store import Store, pack
from support import faults
from support.disk import fsck
from support.drafts import save
from support.faults import FaultyOs
from support.upkeep import contents


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return tmp_path / "repo.git"


@pytest.fixture
def store(git_dir: Path) -> Store:
    """One that has been in use: files are ready for the next save."""
    made = Store.create(str(git_dir))
    save(made, {b"a": b"first"})
    made.settle()
    return made


def packs(git_dir: Path, ending: str = "pack") -> set[Path]:
    return set((git_dir / "objects/pack").glob(f"pack-*.{ending}"))


def pledges(git_dir: Path) -> list[Path]:
    return [path for path in (git_dir / "objects/pack").glob(f"{blanks.PREFIX}*") if path.stat().st_size]


def ref(git_dir: Path, number: int) -> Path:
    return git_dir / "refs/checkpoints" / str(number)


def loses_names(git_dir: Path, before: set[Path]) -> None:
    for path in packs(git_dir, "*") - before:
        path.unlink()
    ref(git_dir, 2).unlink()


def loses_contents(git_dir: Path, before: set[Path]) -> None:
    for path in [*packs(git_dir, "idx") - before, ref(git_dir, 2)]:
        path.chmod(0o600)
        path.write_bytes(b"")


def loses_the_pack_only(git_dir: Path, before: set[Path]) -> None:
    for path in packs(git_dir) - before:
        path.unlink()


def loses_the_ref_only(git_dir: Path, before: set[Path]) -> None:
    ref(git_dir, 2).unlink()


def loses_nothing(git_dir: Path, before: set[Path]) -> None:
    """As after a kill."""


@pytest.mark.parametrize(
    "cut", [loses_names, loses_contents, loses_the_pack_only, loses_the_ref_only, loses_nothing]
)
def test_a_power_cut_after_the_answer_costs_nothing(
    store: Store, git_dir: Path, cut: Callable[[Path, set[Path]], None]
) -> None:
    """Whatever a file system has not written down yet is made again from what it has."""
    before = packs(git_dir, "*")
    made = save(store, {b"a": b"second"})
    cut(git_dir, before)
    reopened = Store(str(git_dir))
    assert reopened.numbers == [1, 2]
    assert reopened.get(2).id == made.id
    assert contents(reopened, 2) == {b"a": b"second"}
    assert not any(mended.is_loss for mended in reopened.mended)
    assert pledges(git_dir) == []
    assert save(reopened, {b"a": b"third"}).number == 3
    fsck(git_dir)


def test_several_saves_may_be_pledged_at_once(store: Store, git_dir: Path) -> None:
    """One that follows the other does not wait for it."""
    before = packs(git_dir, "*")
    made = [save(store, {b"a": b"%d" % number}) for number in range(5)]
    for path in [*packs(git_dir, "*") - before, ref(git_dir, 3), ref(git_dir, 5)]:
        path.unlink()
    reopened = Store(str(git_dir))
    assert [reopened.get(each.number).id for each in made] == [each.id for each in made]
    fsck(git_dir)


def test_a_pledge_that_was_not_finished_is_none(store: Store, git_dir: Path) -> None:
    """Killed before its sync, a save was never acknowledged, and half of a pack is no checkpoint."""
    save(store, {b"a": b"second"})
    (pledge,) = pledges(git_dir)
    whole = pledge.read_bytes()
    for left in (1, 12, len(whole) - 1):
        half = git_dir / "objects/pack" / f"{blanks.PREFIX}{left}"
        half.write_bytes(whole[:left])
    reopened = Store(str(git_dir))
    assert reopened.numbers == [1, 2]
    assert pledges(git_dir) == []
    fsck(git_dir)


def test_what_is_settled_is_pledged_no_more(store: Store, git_dir: Path) -> None:
    """Else a checkpoint that was deleted could come back."""
    save(store, {b"a": b"second"})
    assert len(pledges(git_dir)) == 1
    store.settle()
    assert pledges(git_dir) == []


@pytest.mark.parametrize("wanted", [0, 1, 2])
def test_who_asks_meanwhile_waits_for_one_sync_at_most(
    store: Store, git_dir: Path, monkeypatch: pytest.MonkeyPatch, wanted: int
) -> None:
    """An agent saves again at once, and on a busy disk each sync takes milliseconds."""
    made = save(store, {b"a": b"second"})
    syncs: list[int] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (syncs.append(descriptor), sync(descriptor)))
    store.settle(lambda: len(syncs) >= wanted)
    assert len(syncs) == wanted
    assert len(pledges(git_dir)) == 1  # it is durable in every respect only once all is synced
    ref(git_dir, 2).unlink()
    assert Store(str(git_dir)).get(2).id == made.id


def test_files_made_ahead_last_also_if_their_sync_was_put_off(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A save into a file whose name may be lost has to sync the folder as well, and so waits for two syncs."""
    store.delete(1)  # makes a pack that is no checkpoint's, and so takes files without a pledge
    syncs: list[int] = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: (syncs.append(descriptor), sync(descriptor)))
    store.settle(lambda: len(syncs) == 1)  # of that pack's index; the next one would be of the names
    assert len(syncs) == 1
    store.settle()
    syncs.clear()
    save(store, {b"a": b"second"})
    assert len(syncs) == 1


def test_what_was_put_off_is_settled_the_next_time(store: Store, git_dir: Path) -> None:
    """However often somebody asked."""
    for number in range(3):
        save(store, {b"a": b"%d" % number})
        store.settle(lambda: True)
    assert len(pledges(git_dir)) == 3
    store.settle()
    assert pledges(git_dir) == []
    fsck(git_dir)


def test_a_deleted_checkpoint_stays_deleted_whatever_a_power_cut_brings_back(
    store: Store, git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pledge must be gone for good before the ref goes."""
    steps: list[str] = []
    unlink, sync_folder = os.unlink, durable.sync_folder

    def noting_unlink(path: str) -> None:
        steps.append(f"unlink {Path(path).name.partition('-')[0]}")
        unlink(path)

    def noting_sync(folder: str) -> None:
        steps.append(f"sync {Path(folder).name}")
        sync_folder(folder)

    save(store, {b"a": b"second"})
    store.settle()
    monkeypatch.setattr(os, "unlink", noting_unlink)
    monkeypatch.setattr(durable, "sync_folder", noting_sync)
    made = save(store, {b"a": b"third"})
    store.settle()
    store.delete(made.number)
    gone, ref_gone = steps.index("unlink blank"), steps.index(f"unlink {made.number}")
    assert "sync pack" in steps[gone:ref_gone]
    assert Store(str(git_dir)).numbers == [1, 2]


def test_a_disk_without_links_has_everything_synced_before_the_answer(
    store: Store, git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing then that it could be made again from."""
    faults.install(FaultyOs("link", 1, errno.EPERM, lasting=True), [pack], monkeypatch)
    synced: list[str] = []
    sync_folder = durable.sync_folder
    monkeypatch.setattr(
        durable, "sync_folder", lambda path: synced.append(Path(path).name) or sync_folder(path)
    )
    made = save(store, {b"a": b"second"})
    assert synced == ["pack", "checkpoints"]
    assert pledges(git_dir) == []
    assert Store(str(git_dir)).get(2).id == made.id
    fsck(git_dir)


def test_a_pledge_that_can_not_be_taken_back_is_taken_back_before_the_next(
    store: Store, git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two checkpoints of one number would be found, and one of them was acknowledged."""
    replace = os.replace

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        patch.setattr(os, "unlink", refuse)
        with pytest.raises(StoreFailed, match="Read-only"):
            save(store, {b"a": b"refused"})
        assert len(pledges(git_dir)) == 1
        patch.setattr(os, "replace", replace)
        with pytest.raises(StoreFailed, match="Read-only"):
            save(store, {b"a": b"refused as well"})
    made = save(store, {b"a": b"second"})
    assert (made.number, len(pledges(git_dir))) == (2, 1)
    reopened = Store(str(git_dir))
    assert (reopened.numbers, reopened.get(2).id) == ([1, 2], made.id)
    fsck(git_dir)


def test_a_save_that_fails_leaves_no_pledge(
    store: Store, git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was told that it failed must not find it later."""

    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(StoreFailed):
            save(store, {b"a": b"refused"})
    assert pledges(git_dir) == []
    assert Store(str(git_dir)).numbers == [1]
    assert save(store, {b"a": b"second"}).number == 2


def test_a_ref_whose_sync_failed_is_written_anew(
    store: Store, git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel tells of it once: a second sync would succeed, with nothing on the disk."""
    made = save(store, {b"a": b"second"})
    sync_file, inode = durable.sync_file, ref(git_dir, 2).stat().st_ino

    def failing(path: str) -> None:
        if "refs" in path:
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        sync_file(path)

    with monkeypatch.context() as patch:
        patch.setattr(durable, "sync_file", failing)
        with pytest.raises(StoreFailed, match="refs/checkpoints/2"):
            store.settle()
    assert len(pledges(git_dir)) == 1
    store.settle()
    assert pledges(git_dir) == []
    assert ref(git_dir, 2).stat().st_ino != inode
    assert ref(git_dir, 2).read_text().strip() == made.id


def test_a_ref_that_became_something_else_is_left_to_be_reported(store: Store, git_dir: Path) -> None:
    """It does not hold what was pledged, and somebody may have had a reason."""
    first = store.get(1)
    save(store, {b"a": b"second"})
    ref(git_dir, 2).write_text(first.id + "\n")
    reopened = Store(str(git_dir))
    assert ref(git_dir, 2).read_text().strip() == first.id
    assert reopened.numbers == [1, 2]


def test_what_is_no_file_at_all_keeps_no_store_from_being_opened(store: Store, git_dir: Path) -> None:
    """Whoever can write there could otherwise lock everything away with one link."""
    save(store, {b"a": b"second"})
    folder = git_dir / "objects/pack"
    os.mkfifo(folder / f"{blanks.PREFIX}fifo")
    (folder / f"{blanks.PREFIX}link").symlink_to(folder / "nowhere")
    assert Store(str(git_dir)).numbers == [1, 2]
    assert list(folder.glob(f"{blanks.PREFIX}*")) == []
