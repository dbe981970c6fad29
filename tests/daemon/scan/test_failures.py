"""What can't be read keeps its last captured content; what can't be stored is an error, always."""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo, StoreFailed, WorkspaceUnavailable
from backtraild import durable
from backtraild.model import SkipReason
from backtraild.scan import capture, folders, scanner
from backtraild.store import PackWriter
from support.denied import deny
from support.disk import snapshot
from support.look import Looker, Os
from support.project import Project

LARGE = os.urandom(3 * 1024 * 1024)


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        yield project


def no_space(*_: object, **__: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("dirty", [None, [b"secret", b"other"]])
def test_an_unreadable_file_keeps_its_last_content_and_is_reported(
    project: Project, monkeypatch: pytest.MonkeyPatch, dirty: list[bytes] | None
):
    """To record it as deleted would be a lie, and a restore would then act on it."""
    secret = project.write("secret", b"known")
    project.write("other", b"one")
    project.workspace.start()
    project.write("secret", b"unknown")
    project.write("other", b"two")
    allow = deny(monkeypatch, secret)

    checkpoint = project.save(dirty=dirty)

    assert project.captured() == {b"secret": ("file", b"known"), b"other": ("file", b"two")}
    assert [(left.path, left.reason) for left in checkpoint.skipped] == [(b"secret", SkipReason.UNREADABLE)]
    allow()
    again = project.save(dirty=dirty)
    project.check(again)
    assert again.skipped == ()


@pytest.mark.parametrize("dirty", [None, [b"shut", b"other"], [b"shut/deep/a", b"other"]])
def test_an_unreadable_folder_keeps_its_last_content_and_is_reported(
    project: Project, monkeypatch: pytest.MonkeyPatch, dirty: list[bytes] | None
):
    """A folder that somebody locked for a moment is not a thousand deleted files."""
    project.write("shut/a", b"a")
    project.write("shut/deep/a", b"deep")
    project.write("shutter/a", b"begins with the same letters")
    project.write("other", b"one")
    project.workspace.start()
    project.write("shut/deep/a", b"changed behind the door")
    project.write("other", b"two")
    allow = deny(monkeypatch, project.root / "shut")

    checkpoint = project.save(dirty=dirty)

    assert project.captured() == project.captured("1") | {b"other": ("file", b"two")}
    assert [(left.path, left.reason) for left in checkpoint.skipped] == [(b"shut", SkipReason.UNREADABLE)]
    allow()
    again = project.save(dirty=dirty and [b"shut"])
    project.check(again)
    assert again.skipped == ()


def test_a_folder_whose_ignore_file_would_take_for_ever_keeps_its_content_and_is_reported(project: Project):
    """Without its rules, what its owner keeps out would be captured; with them, a look would take hours."""
    project.write("shut/a", b"a")
    project.write("other", b"one")
    project.workspace.start()
    project.write("shut/.gitignore", b"".join(b"a*%d*b\n" % number for number in range(20_000)))
    project.write("shut/a", b"two")
    project.write("other", b"two")
    checkpoint = project.save()
    assert project.captured() == project.captured("1") | {b"other": ("file", b"two")}
    assert [(left.path, left.reason) for left in checkpoint.skipped] == [(b"shut", SkipReason.UNREADABLE)]
    project.write("shut/.gitignore", b"*.log\n")
    project.check(project.save())


def test_a_folder_that_can_be_listed_but_not_entered_keeps_its_content(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Mode 0444 on a folder shows the names and hides the files: they are still there."""
    project.write("half/a", b"a")
    project.write("half/b", b"b")
    project.write("other", b"one")
    project.workspace.start()
    project.write("other", b"two")

    class Hidden:
        """An entry of such a folder."""

        def __init__(self, name: bytes) -> None:
            self.name = os.fsdecode(name)

        def is_dir(self, **_: bool) -> bool:
            return False

        def stat(self, **_: bool) -> os.stat_result:
            raise PermissionError(13, os.strerror(13))

    listed = scanner.list_folder

    def list_half(descriptor: int):
        entries = listed(descriptor)
        return {name: Hidden(name) for name in entries} if b"a" in entries else entries

    monkeypatch.setattr(scanner, "list_folder", list_half)
    checkpoint = project.save()

    assert project.captured() == project.captured("1") | {b"other": ("file", b"two")}
    assert [left.path for left in checkpoint.skipped] == [b"half/a", b"half/b"]


@pytest.mark.parametrize("code", [errno.EIO, errno.ESTALE, errno.EACCES])
def test_one_file_that_the_disk_cannot_show_does_not_end_the_save_of_the_others(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: int
):
    """A bad sector or a lost network mount is no reason to stop protecting the rest."""
    project.write("bad", b"known")
    project.write("good", b"one")
    project.workspace.start()
    project.write("good", b"two")

    def stat(name, **options):
        if name == b"bad":
            raise OSError(code, os.strerror(code))
        return os.stat(name, **options)

    monkeypatch.setattr(scanner, "os", Os(stat=stat))
    checkpoint = project.save(dirty=[b"bad", b"good"])

    assert project.captured() == {b"bad": ("file", b"known"), b"good": ("file", b"two")}
    assert [(left.path, left.reason) for left in checkpoint.skipped] == [(b"bad", SkipReason.UNREADABLE)]


@pytest.mark.parametrize("content", [b"small", LARGE], ids=["small", "large"])
def test_a_disk_that_fails_while_a_file_is_read_makes_it_unreadable_and_not_the_store(
    project: Project, monkeypatch: pytest.MonkeyPatch, content: bytes
):
    """The user has to look at that file's disk, not at the store's."""
    project.write("bad", b"known")
    project.workspace.start()
    project.write("bad", content)
    project.write("good", b"new")

    def fail(*_: object) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patch:
        patch.setattr(capture, "os", Os(read=fail, pread=fail))
        with pytest.raises(NothingToDo):
            project.save(dirty=[b"bad"])
    assert [(left.path, left.reason) for left in project.workspace.skipped()] == [
        (b"bad", SkipReason.UNREADABLE)
    ]
    project.check(project.save())


@pytest.mark.parametrize("code", [errno.EACCES, errno.EPERM])
@pytest.mark.parametrize("name", [".gitignore", ".backtrailignore"])
def test_an_ignore_file_that_was_refused_once_still_counts(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, code: int
):
    """A server that hiccups must not make the keys beside it part of a checkpoint."""
    project.write(name, b"secret\n")
    project.write("secret", b"key")
    refused: list[bytes] = []

    def refuse_once(path: bytes, *arguments: int, **options: int) -> int:
        if path == name.encode() and not refused:
            refused.append(path)
            raise OSError(code, os.strerror(code))
        return os.open(path, *arguments, **options)

    monkeypatch.setattr(folders, "os", Os(open=refuse_once))
    project.workspace.start()
    assert refused
    assert project.captured() == {name.encode(): ("file", b"secret\n")}


def test_a_root_that_cannot_be_listed_is_unavailable_and_nothing_is_deleted(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Too many open files, a failing disk: the names are not known, which is not the same as gone."""
    project.write("a/deep/file")
    project.write("top")
    project.workspace.start()

    def fail(_: int) -> None:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(scanner, "list_folder", fail)
        with pytest.raises(WorkspaceUnavailable):
            project.save()
    with pytest.raises(NothingToDo):
        project.save()
    assert project.workspace.history.find("@").number == 1


@pytest.mark.parametrize("replacement", ["nothing", "a file", "a symlink"])
def test_a_root_that_is_gone_is_unavailable_and_nothing_is_deleted(project: Project, replacement: str):
    """An unplugged disk must not become a checkpoint in which everything was deleted."""
    project.write("a/file")
    project.write("top")
    project.workspace.start()
    away = project.folder / "away"
    os.rename(project.root, away)
    if replacement == "a file":
        project.root.write_text("in the way")
    elif replacement == "a symlink":
        project.root.symlink_to(away)

    for dirty in (None, [b"a/file"], [b"top"], [b""]):
        with pytest.raises(WorkspaceUnavailable):
            project.save(dirty=dirty)
    with pytest.raises(WorkspaceUnavailable):
        project.workspace.history.diff("@")
    project.reopen()
    with pytest.raises(WorkspaceUnavailable):
        project.save()

    if replacement != "nothing":
        project.root.unlink()
    os.rename(away, project.root)
    with pytest.raises(NothingToDo):
        project.save()
    project.write("top", b"changed")
    checkpoint = project.save()
    assert [change.path for change in checkpoint.files_changed] == [b"top"]
    project.check(checkpoint)


@pytest.mark.parametrize(
    "failing",
    [
        (PackWriter, "_write_out"),
        (PackWriter, "add_blob_stream"),
        (PackWriter, "add_blob"),
        (durable, "write_all"),
        (durable, "write_parts"),
        (durable, "sync_folder"),
    ],
    ids=lambda failing: failing[1],
)
def test_a_full_disk_is_an_error_and_never_an_unreadable_file(
    project: Project, monkeypatch: pytest.MonkeyPatch, failing: tuple[object, str]
):
    """A failed save that looks like a good one is how work was lost with other tools."""
    project.write("a", b"one")
    project.workspace.start()
    before = snapshot(project.root)
    project.write("a", b"two")
    project.write("large", LARGE)
    project.write("deep/new", b"new")
    descriptors = []

    with monkeypatch.context() as patch:
        patch.setattr(*failing, no_space)
        for _ in range(3):
            with pytest.raises(StoreFailed, match="No space left"):
                project.save()
            descriptors.append(len(os.listdir("/dev/fd")))

    # A daemon that fails all night must not run out of descriptors as well; libgit2 keeps those of the first.
    assert descriptors[1] == descriptors[2]
    assert project.workspace.skipped() == []
    assert project.workspace.history.find("@").number == 1
    assert project.captured() == before
    checkpoint = project.save()
    assert len(checkpoint.files_changed) == 3
    project.check(checkpoint)


def test_a_store_that_loses_its_folder_during_a_save_is_not_taken_for_a_deleted_file(tmp_path: Path):
    """`No such file` from the store says nothing about the file that was being read."""
    with Looker(tmp_path) as looker:
        (looker.root / "large").write_bytes(LARGE)
        looker.look(2**62)
        (looker.root / "large").write_bytes(LARGE[::-1])

        def fail(*_: object) -> None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), "objects/pack/blank-1")

        looker.sink.add_blob_stream = fail  # type: ignore[method-assign]
        with pytest.raises(FileNotFoundError):
            looker.look(2**62)
        assert looker.content(b"large") == LARGE


@pytest.mark.parametrize(
    ("code", "looked_at_again"), [(errno.EIO, {b"bad"}), (errno.EMFILE, {b"bad"}), (errno.EACCES, set())]
)
def test_a_file_whose_trouble_passes_without_an_event_is_looked_at_again(
    project: Project, monkeypatch: pytest.MonkeyPatch, code: int, looked_at_again: set[bytes]
):
    """Nobody tells that a disk reads again; a change of permissions is told, and needs no second look."""
    project.write("bad", b"known")
    project.workspace.start()
    project.write("bad", b"changed")
    project.write("good", b"new")

    def fail(name: bytes, *arguments: object, **options: object) -> int:
        if name == b"bad":
            raise OSError(code, os.strerror(code))
        return os.open(name, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(capture, "os", Os(open=fail))
        project.save(dirty=[b"bad", b"good"])
    assert project.workspace.unsettled() == looked_at_again


@pytest.mark.parametrize("folder", ["", "lib/"], ids=["root", "subfolder"])
@pytest.mark.parametrize("dirty", [None, True], ids=["everything", "hints"])
def test_an_ignore_file_that_the_disk_cannot_show_lets_nothing_in_that_it_keeps_out(
    project: Project, monkeypatch: pytest.MonkeyPatch, folder: str, dirty: bool | None
):
    """For want of a descriptor, a folder full of secrets and packages would be captured."""
    project.write(f"{folder}.gitignore", b"secret\n")
    project.write(f"{folder}kept", b"1")
    project.workspace.start()
    project.write(f"{folder}secret", b"not to be captured")
    project.write("other", b"2")

    def fail(name: bytes, *arguments: object, **options: object) -> int:
        if name == b".gitignore":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return os.open(name, *arguments, **options)

    hints = None if dirty is None else [os.fsencode(f"{folder}secret"), b"other"]
    with monkeypatch.context() as patch:
        patch.setattr(folders, "os", Os(open=fail))
        with contextlib.suppress(WorkspaceUnavailable):
            project.save(dirty=hints)
    assert os.fsencode(f"{folder}secret") not in project.captured()
    project.write("later", b"3")
    project.save()
    assert project.captured() == {
        path: what for path, what in snapshot(project.root).items() if not path.endswith(b"secret")
    }
