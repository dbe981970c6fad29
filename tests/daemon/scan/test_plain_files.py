"""What may be read without a question, and what takes a closer look."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from backtraild.scan.capture import WHOLE_UP_TO, Captured, capture_plain
from backtraild.store import pack_blob


def captured(folder: Path, name: bytes, clock: Callable[[], int] = time.time_ns) -> Captured | None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        return capture_plain(name, descriptor, pack_blob, clock)
    finally:
        os.close(descriptor)


def test_a_plain_file_is_read_with_its_row_and_its_content(tmp_path: Path):
    """Whoever reads it for the look leaves nothing for the look to do."""
    (tmp_path / "file").write_bytes(b"one\ntwo\n")
    (tmp_path / "file").chmod(0o755)
    os.utime(tmp_path / "file", ns=(1, 1_500_000_000))
    status = os.stat(tmp_path / "file")

    soon = captured(tmp_path, b"file", lambda: status.st_ctime_ns)
    later = captured(tmp_path, b"file", lambda: status.st_ctime_ns + 10**10)

    content = pack_blob(b"one\ntwo\n")
    assert content.lines == 2
    assert soon is not None
    assert later is not None
    assert soon.content == later.content == content
    assert later.row == (0o100755, content.oid, 8, 1_500_000_000, status.st_ctime_ns, status.st_ino)
    assert soon.row.ctime_ns == -1, "git's racy-timestamp rule: it could change again unseen"


def test_everything_else_takes_a_closer_look(tmp_path: Path):
    """It may have become something else since it was listed, and is never followed, nor waited for."""
    os.symlink("/etc/passwd", tmp_path / "link")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "large").write_bytes(b"x" * 2 * WHOLE_UP_TO)
    for name in (b"link", b"pipe", b"folder", b"large", b"gone", b"x" * 256):
        assert captured(tmp_path, name) is None


def test_a_file_that_is_written_to_while_it_is_read_takes_a_closer_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Half of the old content and half of the new was never on the disk."""
    (tmp_path / "file").write_bytes(b"old")
    read = os.read

    def interrupted(descriptor: int, size: int) -> bytes:
        content = read(descriptor, size)
        (tmp_path / "file").write_bytes(b"new")
        return content

    monkeypatch.setattr(os, "read", interrupted)
    assert captured(tmp_path, b"file") is None
