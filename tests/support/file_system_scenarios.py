"""Workspaces and stores on file systems with ways of their own; run by `mounts.apart`."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from backtrail.errors import BacktrailError, RestoreFailed, StoreFailed
from backtraild import worker
from backtraild.model import Checkpoint, Intent
from support.disk import fsck, snapshot
from support.mounts import Disk, remount, run, tmpfs
from support.serving import Site, desk
from support.watching import eventually
from torture.campaign import Unable


def workspace_on_several(where: str) -> None:
    """The store is on one disk, the workspace on another, and a folder in it on a third."""
    folder = Path(where)
    tmpfs(folder / "work", 8_000_000)
    tmpfs(folder / "work" / "third", 8_000_000)
    with _site(folder) as site:
        site.write("a", b"1")
        site.write("third/deep/b", b"1")
        first = _save(site)
        site.write("a", b"2")
        (site.root / "third" / "deep" / "b").unlink()
        site.write("third/c", b"2")
        _goes_back_and_forth(site, first)


def read_only_workspace(where: str) -> None:
    """It can be captured, and not be written to; that is said, and nothing else changes."""
    folder = Path(where)
    tmpfs(folder / "work", 8_000_000)
    with _site(folder) as site:
        site.write("a", b"1")
        first = _save(site)
        site.write("a", b"2")
        remount(site.root, "ro")
        second = _save(site)
        before = snapshot(site.root)
        with pytest.raises(RestoreFailed, match="Nothing was changed"):
            site.desk.service.restore(site.id, str(first.number))
        assert snapshot(site.root) == before
        assert site.state == "watching"
        site.desk.restart()
        assert site.state == "watching"
        assert site.content("a", str(second.number)) == b"2"
        remount(site.root, "rw")
        site.desk.service.restore(site.id, str(first.number))
        assert (site.root / "a").read_bytes() == b"1"


def read_only_store(where: str) -> None:
    """A disk that fails is often made read-only by the system: nothing is acknowledged, everything can be read."""
    folder = Path(where)
    home = tmpfs(folder / "home", 8_000_000)
    with _site(folder) as site:
        site.write("a", b"1")
        first = _save(site)
        # Over itself: what is open already could not be made read-only otherwise.
        run("mount", "--bind", home, home)
        remount(home, "bind,ro")
        site.write("a", b"2")
        with pytest.raises(StoreFailed, match=r"Read-only|readonly"):
            _save(site)
        eventually(lambda: site.state == "degraded")
        eventually(lambda: "ead-only" in site.reasons() or "readonly" in site.reasons(), why=site.reasons())
        service = site.desk.service
        assert service.read(site.id, str(first.number), b"a") == b"1"
        assert first.number in [made.number for made in site.checkpoints()]
        assert service.diff(site.id, str(first.number)).files
        for refused in (
            lambda: service.pin(site.id, str(first.number)),
            lambda: service.delete(site.id, [str(first.number)]),
            lambda: service.restore(site.id, str(first.number)),
        ):
            with pytest.raises(BacktrailError):
                refused()
        assert (site.root / "a").read_bytes() == b"2"
        run("umount", "--lazy", home)
        eventually(lambda: site.state == "watching", why=site.reasons())
        site.wait_for("a", b"2")
        assert site.content("a", str(first.number)) == b"1"
        fsck(site.git_dir)


def unmounted_store(where: str) -> None:
    """A disk that holds a store is taken away and comes back: no other store is begun in its place meanwhile."""
    folder = Path(where)
    away, mounted = folder / "away", folder / "mounted"
    away.mkdir()
    mounted.mkdir()
    run("mount", "--bind", away, mounted)
    with _site(folder, store=str(mounted)) as site:
        site.write("a", b"1")
        first = _save(site)
        run("umount", "--lazy", mounted)
        site.write("a", b"2")
        service = site.desk.service
        for refused in (
            lambda: _save(site),
            lambda: service.pin(site.id, str(first.number)),
            lambda: service.delete(site.id, [str(first.number)]),
            lambda: service.restore(site.id, str(first.number)),
        ):
            with pytest.raises(BacktrailError):
                refused()
        eventually(lambda: site.state == "degraded")
        assert os.listdir(mounted) == [], "something was begun where the disk was"
        assert (site.root / "a").read_bytes() == b"2"
        _restart(site)
        assert site.state == "degraded"
        assert "is a disk not mounted" in site.reasons(), site.reasons()
        assert os.listdir(mounted) == []
        run("mount", "--bind", away, mounted)
        eventually(lambda: site.state == "watching", why=site.reasons())
        site.wait_for("a", b"2")
        assert site.content("a", str(first.number)) == b"1"
        fsck(site.git_dir)


def overlay(where: str) -> None:
    """Containers have their files in layers: what is changed moves to the upper one and gets another identity."""
    folder = Path(where)
    tmpfs(folder / "layers", 16_000_000)
    for name in ("lower", "upper", "work"):
        (folder / "layers" / name).mkdir()
    for name in ("a", "deep/b", "deep/c", "gone/d"):
        path = folder / "layers" / "lower" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("lower")
    layers = ",".join(f"{name}dir={folder}/layers/{name}" for name in ("lower", "upper", "work"))
    root = folder / "work"
    root.mkdir()
    run("mount", "-t", "overlay", "overlay", "-o", layers, root)
    with _site(folder) as site:
        first = site.newest()
        site.write("a", b"upper")
        (root / "deep" / "b").unlink()
        (root / "gone" / "d").unlink()
        (root / "gone").rmdir()
        site.write("gone", b"a file now")
        os.symlink("a", root / "link")
        os.chmod(root / "deep" / "c", 0o700)
        _goes_back_and_forth(site, first)


def case_insensitive(where: str) -> None:
    """Two files whose names differ in case are one here: a restore tells what it can't write, and loses nothing."""
    folder = Path(where)
    disk = _caseless(folder)
    lower = folder / "work"
    with _site(folder) as site:
        site.write("README", b"1")
        site.write("readme", b"2")
        both = _save(site)
        run("mount", "--bind", disk, lower)  # the same folder as a caseless system would have it
        site.write("README", b"one of them")
        site.desk.service.watch(str(lower))
        before = _save(site)
        result = site.desk.service.restore(site.id, str(both.number))
        assert result.conflicts, "one of the two can't be there, and that has to be said"
        site.desk.service.restore(site.id, str(before.number))
        assert (site.root / "README").read_bytes() == b"one of them"


def _caseless(folder: Path) -> Path:
    disk = Disk(folder / "image", folder / "disk", "-O", "casefold")
    caseless = disk.at / "caseless"
    caseless.mkdir()
    try:
        run("chattr", "+F", caseless)
    except AssertionError as error:
        raise Unable(f"no file system here ignores case: {error}") from error
    return caseless


def _goes_back_and_forth(site: Site, first: Checkpoint) -> None:
    """The disk is what a checkpoint holds after each restore, and nothing is left over."""
    second = _save(site)
    assert site.captured() == snapshot(site.root)
    for number in (first.number, second.number, first.number):
        result = site.desk.service.restore(site.id, str(number))
        assert not result.conflicts, result.conflicts
        assert snapshot(site.root) == site.captured(str(number))
    fsck(site.git_dir)


def _save(site: Site) -> Checkpoint:
    return site.desk.service.save(site.id, Intent(message="save"), allow_empty=True)


def _restart(site: Site) -> None:
    """Without waiting for what can't be looked at now."""
    site.desk.service.stop()
    site.desk.start()
    eventually(lambda: site.state != "scanning")


@contextlib.contextmanager
def _site(folder: Path, **options: Any) -> Iterator[Site]:
    """The folder `work`, watched by a service that tries again soon."""
    worker.RETRY_SECONDS = 0.2
    with desk(folder) as at:
        yield at.watch(**options)
