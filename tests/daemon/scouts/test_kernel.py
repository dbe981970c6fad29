"""Watches without a library around them: which folders get one, and what is told of those that do not."""

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtraild.scouts import kernel

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


@pytest.fixture
def queue() -> Iterator[int]:
    opened = kernel.open_queue()
    yield opened
    os.close(opened)


def test_a_folder_has_one_number_however_it_is_named(tmp_path: Path, queue: int) -> None:
    """By its number a scout knows that another folder was put into its place."""
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    number = kernel.watch(queue, os.fsencode(first))
    assert number is not None
    assert kernel.watch(queue, os.fsencode(second / ".." / "first")) == number
    assert kernel.watch(queue, os.fsencode(second)) != number


def test_what_is_no_folder_gets_no_watch(tmp_path: Path, queue: int) -> None:
    """Behind a symlink there is nothing of the workspace, though it may look the same."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "file").touch()
    for name in ("link", "file", "gone", "x" * 300):
        assert kernel.watch(queue, os.fsencode(tmp_path / name)) is None


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.ENOMEM])
def test_where_the_system_has_no_more_watches_that_is_said(
    tmp_path: Path, queue: int, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """Taken for a folder that is gone, all that is left would be looked at again, one by one."""
    monkeypatch.setattr(kernel, "_add", lambda *_: -1)
    monkeypatch.setattr(kernel.ctypes, "get_errno", lambda: code)
    with pytest.raises(OSError, match=os.strerror(code)):
        kernel.watch(queue, os.fsencode(tmp_path))


def test_a_folder_that_may_not_be_read_gets_none(
    tmp_path: Path, queue: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a hint like any other folder that is not as it was, and no reason to look at everything."""
    monkeypatch.setattr(kernel, "_add", lambda *_: -1)
    monkeypatch.setattr(kernel.ctypes, "get_errno", lambda: errno.EACCES)
    assert kernel.watch(queue, os.fsencode(tmp_path)) is None
