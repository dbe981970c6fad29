"""The old files of a restore are out of the way at once, and gone in the end."""

import errno
import os
from pathlib import Path

import pytest

from backtraild.restore.calls import Calls
from backtraild.store import aside
from support.project import Project
from support.watching import eventually

FILES = 40


@pytest.fixture
def project(tmp_path: Path):
    with Project(tmp_path) as project:
        for number in range(FILES):
            project.write(f"{number}", b"first")
        project.workspace.start()
        for number in range(FILES):
            project.write(f"{number}", b"second")
        project.save()
        yield project


def trash(project: Project) -> list[str]:
    return os.listdir(project.git_dir / aside.FOLDER)


def test_nobody_waits_until_they_are_unlinked(project: Project, monkeypatch: pytest.MonkeyPatch):
    """On a busy disk that takes a millisecond each, and there may be thousands."""
    unlinked: list[bytes] = []
    monkeypatch.setattr(Calls, "unlink", staticmethod(lambda name, **_: unlinked.append(name)))
    monkeypatch.setattr(aside, "sweep_soon", lambda _: None)
    done = project.workspace.restore("1")
    assert len(done.written) == FILES
    assert unlinked == []
    assert len(trash(project)) == FILES
    assert sorted(os.listdir(project.root)) == sorted(map(str, range(FILES)))
    monkeypatch.undo()
    project.reopen()  # what was not swept is swept by the next daemon
    eventually(lambda: not trash(project))


def test_they_are_swept_by_themselves(project: Project):
    """The disk has the space again soon, once the answer is given."""
    project.workspace.restore("1")
    project.workspace.settle()
    eventually(lambda: not trash(project))


@pytest.mark.parametrize("reason", [errno.EXDEV, errno.ENOSPC, errno.EACCES])
def test_where_they_cannot_be_moved_they_are_unlinked(
    project: Project, monkeypatch: pytest.MonkeyPatch, reason: int
):
    """A store on another disk, or on one that is full, changes nothing but the time that it takes."""
    real = os.rename

    def rename(source: bytes, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
        if os.readlink(f"/proc/self/fd/{dst_dir_fd}").endswith(f"/{aside.FOLDER}"):
            raise OSError(reason, os.strerror(reason))
        real(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

    monkeypatch.setattr(Calls, "rename", staticmethod(rename))
    done = project.workspace.restore("1")
    assert len(done.written) == FILES
    assert trash(project) == []
    project.check(project.workspace.history.find("@"))
