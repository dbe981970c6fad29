"""What is neither a file nor a folder: pipes, sockets, devices, and symlinks, which are only names."""

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.model import Skipped, SkipReason
from backtraild.scan import capture
from support.disk import snapshot
from support.look import Looker, Os
from support.project import Project

LATER = 2**62  # long after any time stamp


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with Project(tmp_path) as project:
        yield project


@pytest.mark.timeout(30)
def test_a_pipe_a_socket_and_a_device_are_reported_and_never_opened(
    project: Project, opened: list[bytes], monkeypatch: pytest.MonkeyPatch
):
    """Opening a pipe waits for a writer, opening a device can rewind a tape: a scan does neither."""
    monkeypatch.chdir(project.root)  # the path of a socket may only be 107 bytes long
    project.write("plain.txt")
    os.mkfifo("pipe")
    special = [b"pipe", b"socket"]
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        if os.geteuid() == 0:
            os.mknod("zero", stat.S_IFCHR | 0o600, os.makedev(1, 5))
            special.append(b"zero")

        checkpoint = project.workspace.start()

    assert opened == [b"plain.txt"]
    assert project.captured() == {b"plain.txt": ("file", b"content\n")}
    assert [left.path for left in checkpoint.skipped] == special
    assert {left.reason for left in project.workspace.skipped()} == {SkipReason.SPECIAL_FILE}


@pytest.mark.timeout(30)
def test_a_pipe_that_takes_the_place_of_a_file_during_the_scan_does_not_stop_it(
    looker: Looker, monkeypatch: pytest.MonkeyPatch
):
    """Between the look and the open anything can happen; an open that waits for ever would be the end."""
    path = looker.root / "file"
    path.write_bytes(b"before")
    looker.look(0)
    path.write_bytes(b"after, and longer")

    def swap_and_open(name, *arguments, **options):
        if not path.is_fifo():
            path.unlink()
            os.mkfifo(path)
        return os.open(name, *arguments, **options)

    monkeypatch.setattr(capture, "os", Os(open=swap_and_open))
    result = looker.look(0)

    assert result.changes[b"file"].new is None
    assert [left.reason for left in looker.skips.all()] == [SkipReason.SPECIAL_FILE]


def test_a_link_that_takes_the_place_of_a_file_during_the_scan_is_captured_as_a_link(
    looker: Looker, monkeypatch: pytest.MonkeyPatch
):
    """Following it would copy any file that the daemon may read into the store."""
    path, outside = looker.root / "file", looker.root.parent / "outside"
    path.write_bytes(b"mine")
    outside.write_bytes(b"secret")

    def swap_and_open(name, *arguments, **options):
        if not path.is_symlink():
            path.unlink()
            path.symlink_to(outside)
        return os.open(name, *arguments, **options)

    monkeypatch.setattr(capture, "os", Os(open=swap_and_open))
    looker.look(0)

    assert looker.content(b"file") == os.fsencode(outside)
    assert b"secret" not in looker.sink.values()


def test_a_pipe_where_a_file_was_is_a_deleted_file_and_can_be_undone_around_it(project: Project):
    """The file's content is in the checkpoint before; the pipe is nobody's to replace."""
    path = project.write("file")
    first = project.workspace.start()
    path.unlink()
    os.mkfifo(path)

    second = project.save()
    result = project.workspace.restore(str(first.number))

    assert [change.status for change in second.files_changed] == ["deleted"]
    assert second.skipped == (Skipped(b"file", 0, SkipReason.SPECIAL_FILE),)
    assert [conflict.path for conflict in result.conflicts] == [b"file"]
    assert path.is_fifo()


def test_symlinks_are_captured_as_symlinks_and_never_followed(project: Project):
    """A link to a folder outside must not bring that folder's files into the checkpoint."""
    outside = project.folder / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_bytes(b"secret")
    project.write("target.txt")
    top = os.fsencode(project.root)
    for name, target in {
        b"to-file": b"target.txt",
        b"to-folder": os.fsencode(outside),
        b"to-nowhere": b"does/not/exist",
        b"to-itself": b"to-itself",
        b"not-utf8": b"caf\xe9/\xff",
        b"caf\xe9-link": b"/",
    }.items():
        os.symlink(target, os.path.join(top, name))

    checkpoint = project.workspace.start()

    project.check(checkpoint)
    captured = project.captured()
    assert captured[b"not-utf8"] == ("symlink", b"caf\xe9/\xff")
    assert captured[b"to-folder"] == ("symlink", os.fsencode(outside))
    assert b"secret" not in b"".join(content for _, content in captured.values())
    assert project.workspace.skipped() == []


def test_a_dirty_path_behind_a_symlink_is_not_looked_up_through_it(project: Project):
    """A hint may be older than the link: `docs/x` must not be read from wherever `docs` points to now."""
    outside = project.folder / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"secret")
    project.write("docs/x", b"mine")
    project.workspace.start()
    os.rename(project.root / "docs", project.folder / "old-docs")
    (project.root / "docs").symlink_to(outside)

    checkpoint = project.save(dirty=[b"docs/x"])

    assert project.captured() == snapshot(project.root) == {b"docs": ("symlink", os.fsencode(outside))}
    project.check(checkpoint)


def test_a_symlink_that_turns_into_a_file_while_it_is_read_is_captured_as_the_file(
    looker: Looker, monkeypatch: pytest.MonkeyPatch
):
    """Mode and content belong together: a file's text stored as a link's target could not be restored."""
    path = looker.root / "name"
    path.symlink_to("somewhere")

    def read_and_swap(name, **options):
        target = os.readlink(name, **options)
        path.unlink()
        path.write_bytes(b"a file now")
        return target

    monkeypatch.setattr(capture, "os", Os(readlink=read_and_swap))
    new = looker.look(0).changes[b"name"].new

    assert new is not None
    assert stat.S_ISREG(new.mode)
    assert looker.sink[new.oid] == b"a file now"
