"""A store where its owner wants it: honoured everywhere, refused where it would do harm."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import RefusedWorkspace, StoreFailed, UsageError
from support.serving import Desk, desk, impatient
from support.watching import eventually


@pytest.fixture
def at(tmp_path: Path) -> Iterator[Desk]:
    with desk(tmp_path) as found:
        yield found


@pytest.mark.parametrize("name", [b"elsewhere", b"caf\xe9"])
def test_a_store_lies_where_its_owner_wants_it_also_after_a_restart(at: Desk, tmp_path: Path, name: bytes):
    """A second disk, a folder that is backed up: the owner knows where there is room."""
    chosen = tmp_path / os.fsdecode(name)
    site = at.watch(store=str(chosen))
    assert site.store == chosen / site.id == at.service.store(site.id)
    # Which folder it is of, and where it lies.
    assert os.listdir(at.places.store(site.id)) == ["workspace.json"]
    assert [folder.stat().st_mode & 0o777 for folder in (chosen, site.store)] == [0o700, 0o700]
    site.write("a", "1")
    at.service.save(site.id)
    at.restart()
    assert at.service.workspaces()[0].store == str(chosen)
    assert site.content("a") == b"1"
    assert at.service.status(site.id).store_bytes > 0
    assert at.service.verify(site.id).whole == (1, 2)
    assert at.watch().id == site.id
    assert at.watch(store=str(chosen)).store == site.store


def test_stores_that_cannot_be_listed_are_not_taken_for_none(at: Desk):
    """`migrate` would say that all is up to date, or fail without a word about what is wrong."""
    stores = at.places.store("")
    stores.rmdir()
    assert at.service.migrate() == []
    stores.symlink_to(stores.name)  # leads to itself
    with pytest.raises(StoreFailed, match="could not be listed"):
        at.service.migrate()


def test_purging_deletes_the_store_and_nothing_beside_it(at: Desk, tmp_path: Path):
    """The folder that the owner named may hold the stores of other workspaces, and other things."""
    (tmp_path / "disk").mkdir(mode=0o755)
    (tmp_path / "disk" / "mine").write_text("mine")
    one, two = at.watch("one", store=str(tmp_path / "disk")), at.watch("two", store=str(tmp_path / "disk"))
    at.service.unwatch(one.id, purge=True)
    assert sorted(os.listdir(tmp_path / "disk")) == sorted(["mine", two.id])
    assert (tmp_path / "disk").stat().st_mode & 0o777 == 0o755
    assert two.newest().number == 1


def test_a_baseline_that_is_refused_leaves_no_store_behind(tmp_path: Path):
    """Nothing half-made, wherever it was to be."""
    (tmp_path / "work").mkdir()
    for name in ("1", "2"):
        (tmp_path / "work" / name).touch()
    with desk(tmp_path, max_files=1) as at:
        with pytest.raises(RefusedWorkspace):
            at.watch(store=str(tmp_path / "disk"))
        assert os.listdir(tmp_path / "disk") == []


@pytest.mark.parametrize(
    ("store", "why"),
    [
        ("disk", "'disk' is not an absolute path"),
        ("{root}/store", "lies inside the watched folder '{root}'"),
        ("{root}", "lies inside the watched folder '{root}'"),
        ("{link}/store", "lies inside the watched folder '{root}'"),
        ("{other}/store", "lies inside the watched folder '{other}'"),
        ("{top}", "'{root}' lies inside the store '{top}'"),
        ("{file}", "can't hold a store: "),
        ("{top}/\0", "No folder can be called"),
    ],
)
def test_a_store_that_would_do_harm_is_refused_before_anything_is_watched(
    at: Desk, tmp_path: Path, store: str, why: str
):
    """A store that captures itself grows with every checkpoint."""
    root = tmp_path / "work"
    root.mkdir()
    (tmp_path / "link").symlink_to(root)
    (tmp_path / "file").touch()
    names = {
        "root": root,
        "link": tmp_path / "link",
        "other": at.watch("other").root,
        "top": tmp_path,
        "file": tmp_path / "file",
    }
    with pytest.raises(UsageError) as refusal:
        at.service.watch(str(root), store=store.format(**names))
    assert why.format(**names) in refusal.value.message
    assert [entry.root for entry in at.service.workspaces()] == [str(tmp_path / "other")]
    assert os.listdir(root) == []


def test_a_folder_around_a_store_is_not_watched(at: Desk, tmp_path: Path):
    """The same harm the other way round: the store was there first."""
    at.watch(store=str(tmp_path / "disk" / "stores"))
    with pytest.raises(RefusedWorkspace, match="contains Backtrail's own folder"):
        at.watch("disk")


def test_a_store_does_not_move_because_its_folder_is_watched_again(at: Desk, tmp_path: Path):
    """Checkpoints in two places would be half a history each; the refusal says where they are."""
    site = at.watch()
    with pytest.raises(UsageError) as refusal:
        at.watch(store=str(tmp_path / "disk"))
    assert f"its store is '{at.places.store(site.id)}'" in refusal.value.message
    assert not (tmp_path / "disk").exists()
    assert at.watch(store=str(at.places.store(site.id).parent)).newest().number == 1


def test_a_store_on_a_disk_that_is_not_mounted_is_waited_for(
    at: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """An empty store begun at the mount point would hide every checkpoint that was ever made."""
    impatient(monkeypatch)
    site = at.watch(store=str(tmp_path / "disk"))
    site.write("a", "1")
    at.service.save(site.id)
    at.service.stop()
    (tmp_path / "disk").rename(tmp_path / "unmounted")
    at.restart()
    eventually(lambda: site.state == "degraded")
    assert "is not there; is a disk not mounted?" in site.reasons()
    assert not (tmp_path / "disk").exists()
    (tmp_path / "unmounted").rename(tmp_path / "disk")
    eventually(lambda: site.state == "watching")
    assert site.content("a") == b"1"
