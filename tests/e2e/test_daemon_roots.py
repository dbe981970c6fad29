"""The workspace's own folder goes away, comes back, or is exchanged: nothing may look like a deletion."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import DaemonStopping, WorkspaceUnavailable
from backtraild import timers, worker
from support.project import Files
from support.serving import Desk, Site, desk, impatient
from support.watching import eventually

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    impatient(monkeypatch)
    monkeypatch.setattr(timers, "ROOT_SECONDS", 0.1)
    with desk(tmp_path) as at:
        found = at.watch("disk/work")
        fill(found)
        yield found


def fill(site: Site) -> None:
    for number in range(30):
        site.write(f"d{number % 3}/file{number}", f"{number}\n")
    site.desk.service.save(site.id)
    site.wait_until_settled()


def check_degraded(site: Site, reason: str, files: Files, number: int) -> None:
    """Degraded for this reason; the newest checkpoint is the one before, and still answers."""
    eventually(lambda: site.state == "degraded" and reason in site.reasons(), why=f"never: {reason}")
    eventually(lambda: [told for told in site.desk.events("degraded") if reason in told.data["reason"]])
    assert site.desk.events("degraded")[-1].workspace == site.id
    with pytest.raises(WorkspaceUnavailable):
        site.desk.service.save(site.id)
    with pytest.raises(WorkspaceUnavailable):
        site.desk.service.restore(site.id, "@")
    assert site.newest().number == number
    assert site.captured() == files


def check_recovered(site: Site) -> None:
    """All is well, and changes in old and new folders are captured again."""
    eventually(lambda: site.state == "watching", why=site.reasons())
    eventually(lambda: site.desk.events("recovered"))
    site.write("d1/file1", "changed after it was back\n")
    site.write("new/deep/file", "after\n")
    site.wait_for("d1/file1", b"changed after it was back\n")
    site.wait_for("new/deep/file", b"after\n")


def test_a_folder_that_is_moved_away_and_back(site: Site, tmp_path: Path):
    """`mv project elsewhere` is no deletion of a thousand files."""
    files, number = site.captured(), site.newest().number
    site.root.rename(tmp_path / "elsewhere")
    check_degraded(site, "No such file", files, number)
    (tmp_path / "elsewhere" / "d0" / "file0").write_text("changed meanwhile\n")
    (tmp_path / "elsewhere").rename(site.root)
    made = site.wait_for("d0/file0", b"changed meanwhile\n")
    assert made.message == "d0/file0 changed (while the folder was not available)"
    check_recovered(site)


def test_a_folder_above_that_is_moved_away_and_back(site: Site, tmp_path: Path):
    """No event tells of it: the watched folder itself did not move."""
    files, number = site.captured(), site.newest().number
    site.root.parent.rename(tmp_path / "elsewhere")
    check_degraded(site, "No such file", files, number)
    (tmp_path / "elsewhere").rename(site.root.parent)
    check_recovered(site)


def test_a_folder_that_is_deleted_and_made_again(site: Site, tmp_path: Path):
    """The backup program brings the folder back; what it brings is captured."""
    copy = tmp_path / "copy"
    shutil.copytree(site.root, copy)
    shutil.rmtree(site.root)
    eventually(lambda: site.state == "degraded")
    with pytest.raises(WorkspaceUnavailable):
        site.desk.service.save(site.id)
    copy.rename(site.root)
    check_recovered(site)
    assert site.content("d0/file0") == b"0\n"


def test_a_folder_that_is_replaced_by_a_file(site: Site, tmp_path: Path):
    """A file has nothing in it, which is not the same as an empty folder."""
    files, number = site.captured(), site.newest().number
    site.root.rename(tmp_path / "elsewhere")
    site.root.write_text("a file")
    check_degraded(site, "Not a directory", files, number)
    site.root.unlink()
    (tmp_path / "elsewhere").rename(site.root)
    check_recovered(site)


def test_a_folder_that_is_replaced_by_an_empty_one(site: Site, tmp_path: Path):
    """It is what an unmounted disk leaves behind."""
    files, number = site.captured(), site.newest().number
    site.root.rename(tmp_path / "elsewhere")
    site.root.mkdir()
    check_degraded(site, "An empty folder has taken the place", files, number)
    site.root.rmdir()
    (tmp_path / "elsewhere").rename(site.root)
    check_recovered(site)


def test_an_empty_folder_is_accepted_when_it_is_watched_again(site: Site):
    """Only its owner can know that it is meant to be empty."""
    old = site.root.rename(site.root.with_name("old"))
    site.root.mkdir()
    eventually(lambda: site.state == "degraded")
    assert site.desk.service.watch(str(site.root)).id == site.id
    assert site.state == "watching"
    assert site.captured() == {}
    check_recovered(site)
    assert old.is_dir()


def test_another_folder_of_the_same_disk_is_taken_for_a_change_and_the_state_before_is_pinned(
    site: Site, tmp_path: Path
):
    """`rm -rf project && git clone … project` is work to be captured, and the old state is worth keeping."""
    number = site.newest().number
    site.root.rename(tmp_path / "elsewhere")
    (tmp_path / "clone").mkdir()
    (tmp_path / "clone" / "README").write_text("another project\n")
    (tmp_path / "clone").rename(site.root)
    site.wait_for("README", b"another project\n")
    assert site.desk.service.get(site.id, str(number)).pinned
    assert site.desk.events("mass_change")[-1].checkpoint == number
    site.write("sub/after", "watched\n")
    site.wait_for("sub/after", b"watched\n")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own for the workspace."""
    point = tmp_path / "disk"
    point.mkdir()
    mount(point)
    yield point
    while os.path.ismount(point):
        unmount(point)


def mount(point: Path) -> None:
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(point)], check=True)


def unmount(point: Path) -> None:
    subprocess.run(["umount", str(point)], check=True)


@as_root
@pytest.mark.parametrize("left_behind", [None, "stray"])
def test_a_disk_that_is_unmounted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounted: Path, left_behind: str | None
):
    """Whatever lies under the mount point says nothing about the files of the disk."""
    impatient(monkeypatch)
    monkeypatch.setattr(timers, "ROOT_SECONDS", 0.1)
    unmount(mounted)
    if left_behind:
        (mounted / left_behind).write_text("under the mount point")
    mount(mounted)
    with desk(tmp_path) as at:
        site = at.watch("disk")
        fill(site)
        files, number = site.captured(), site.newest().number
        unmount(mounted)
        reason = "A folder of another disk" if left_behind else "An empty folder"
        check_degraded(site, reason, files, number)


@as_root
def test_a_disk_that_is_mounted_over_the_workspace_and_unmounted_again(site: Site):
    """No event tells of a mount; the files are there again when it goes."""
    files, number = site.captured(), site.newest().number
    mount(site.root)
    try:
        (site.root / "other").write_text("of another disk")
        check_degraded(site, "A folder of another disk", files, number)
    finally:
        unmount(site.root)
    check_recovered(site)
    assert site.content("other") is None


def test_a_folder_that_is_missing_at_the_start_is_caught_up_with_when_it_comes(site: Site, tmp_path: Path):
    """The daemon starts before the disk is there; it must start all the same, and answer."""
    files, number = site.captured(), site.newest().number
    site.desk.service.stop()
    site.root.rename(tmp_path / "elsewhere")
    site.desk.restart()
    check_degraded(site, "No such file", files, number)
    assert site.desk.service.read(site.id, "@", b"d0/file0") == b"0\n"
    (tmp_path / "elsewhere").rename(site.root)
    check_recovered(site)


def test_while_the_folder_is_gone_the_worker_rests_between_its_attempts(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A laptop without its external disk must not run hot."""
    monkeypatch.setattr(worker, "RETRY_SECONDS", 60.0)
    attempts: list[int] = []
    catch_up = worker.Worker._catch_up
    monkeypatch.setattr(worker.Worker, "_catch_up", lambda self: (attempts.append(1), catch_up(self)))
    site.root.rename(tmp_path / "elsewhere")
    eventually(lambda: site.state == "degraded")
    for number in range(50):
        (tmp_path / "elsewhere" / f"file{number}").write_text("hints of old watches")
    for _ in range(3):  # requests are tried at once, hints are not
        with pytest.raises(WorkspaceUnavailable):
            site.desk.service.save(site.id)
    assert len(attempts) <= 4


def test_stopping_while_the_folder_is_gone_does_not_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A shutdown must not wait for a disk."""
    at = Desk(tmp_path)
    site = at.watch()
    site.root.rename(tmp_path / "elsewhere")
    eventually(lambda: site.state == "degraded")
    at.service.stop()
    with pytest.raises(DaemonStopping):
        at.service.save(site.id)


def test_a_folder_that_goes_while_nothing_is_saved_by_itself_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Whoever paused Backtrail relies on the state all the same."""
    impatient(monkeypatch)
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch("disk/work")
        fill(site)
        (site.root.parent / "work").rename(site.root.parent / "elsewhere")
        eventually(lambda: site.state == "degraded", 10)
        (site.root.parent / "elsewhere").rename(site.root)
        eventually(lambda: site.state == "watching", 10)
