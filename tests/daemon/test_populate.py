"""A checkpoint written into an empty folder: all of it or nothing, and taken away again without harm."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from backtrail.errors import HostileTree, RefusedWorkspace, RestoreFailed, StoreDamaged
from backtraild.model import EXECUTABLE_MODE, FILE_MODE, SYMLINK_MODE, Entry
from backtraild.restore import Calls, Ground, Population
from backtraild.restore.content import blob_id
from support.disk import snapshot


class Contents:
    """Where content comes from: a dictionary."""

    def __init__(self, *contents: bytes) -> None:
        self._contents = {blob_id(content): content for content in contents}

    def size(self, oid: bytes) -> int:
        return len(self._get(oid))

    def chunks(self, oid: bytes) -> Iterator[bytes]:
        content = self._get(oid)
        yield content[:3]
        yield content[3:]

    def _get(self, oid: bytes) -> bytes:
        if oid not in self._contents:
            raise StoreDamaged("It is missing.")
        return self._contents[oid]


FILES = {
    b"a.txt": Entry(FILE_MODE, blob_id(b"content of a")),
    b"bin/run": Entry(EXECUTABLE_MODE, blob_id(b"#!/bin/sh\n")),
    b"deep/er/link": Entry(SYMLINK_MODE, blob_id(b"../../a.txt")),
    b"deep/er/na\xefve": Entry(FILE_MODE, blob_id(b"")),
    b"deep/out": Entry(SYMLINK_MODE, blob_id(b"/etc/passwd")),
}
BLOBS = Contents(b"content of a", b"#!/bin/sh\n", b"../../a.txt", b"", b"/etc/passwd")
EXPECTED = {
    b"a.txt": ("file", b"content of a"),
    b"bin/run": ("executable", b"#!/bin/sh\n"),
    b"deep/er/link": ("symlink", b"../../a.txt"),
    b"deep/er/na\xefve": ("file", b""),
    b"deep/out": ("symlink", b"/etc/passwd"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "new"
    folder.mkdir()
    folder.chmod(0o750)
    return folder


def test_files_links_and_executables_are_what_the_checkpoint_holds(root: Path):
    """A fork whose scripts can't be run, or whose links are copies, is another project."""
    done: list[int] = []
    Population(str(root)).write(FILES, BLOBS, done.append)
    assert snapshot(root) == EXPECTED
    assert stat.S_IMODE((root / "deep/er").stat().st_mode) == 0o750
    assert stat.S_IMODE((root / "a.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE((root / "bin/run").stat().st_mode) == 0o750
    assert done == list(range(1, 11))


def test_what_was_written_is_taken_away_but_nothing_that_anybody_touched(root: Path):
    """Somebody may have begun to work in the folder before the fork failed."""
    population = Population(str(root))
    population.write(FILES, BLOBS)
    population.take_away()
    assert list(root.iterdir()) == []
    population = Population(str(root))
    population.write(FILES, BLOBS)
    (root / "a.txt").write_text("edited since")
    (root / "deep/mine").write_text("mine")
    (root / "bin/run").unlink()
    population.take_away()
    assert snapshot(root) == {b"a.txt": ("file", b"edited since"), b"deep/mine": ("file", b"mine")}
    assert not (root / "bin").exists()


@pytest.mark.parametrize("call", ["mkdir", "open", "write", "fchmod", "symlink", "syncfs"])
def test_a_failure_at_any_call_leaves_the_folder_empty(root: Path, call: str):
    """Half a project in a folder looks like a whole one to whoever finds it."""
    first = 2 if call == "open" else 1  # the root is opened before anything is written
    for nth in range(first, 100):
        error = attempt(root, Failing(call, nth))
        if error is None:
            break
        assert os.strerror(errno.ENOSPC) in error.message
        assert list(root.iterdir()) == [], nth
    assert nth > first
    assert snapshot(root) == EXPECTED, "no call was left that could fail"


def attempt(root: Path, calls: Calls) -> RestoreFailed | None:
    try:
        Population(str(root), calls).write(FILES, BLOBS)
    except RestoreFailed as error:
        return error
    return None


class Failing(Calls):
    """The real calls, but one of them finds the disk full."""

    def __init__(self, name: str, nth: int) -> None:
        self._left = nth
        real = getattr(Calls, name)

        def call(*arguments: object, **named: object) -> object:
            self._left -= 1
            if self._left == 0:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*arguments, **named)

        setattr(self, name, call)


def test_nothing_is_written_if_something_is_missing_or_must_not_be_written(root: Path):
    """Damage is found before the first file is there, and a hostile store writes nowhere else."""
    with pytest.raises(StoreDamaged):
        Population(str(root)).write(FILES, Contents(b"content of a"))
    for path in (b"../outside", b".git/hooks/pre-commit", b"a.txt/below"):
        with pytest.raises(HostileTree):
            Population(str(root)).write({**FILES, path: FILES[b"a.txt"]}, BLOBS)
    assert list(root.iterdir()) == []
    assert sorted(path.name for path in root.parent.iterdir()) == ["new"]


def test_a_folder_that_is_not_empty_any_more_is_left_alone(root: Path):
    """Somebody put something there after it was found empty."""
    (root / "mine").write_text("mine")
    with pytest.raises(RestoreFailed, match="not empty"):
        Population(str(root)).write(FILES, BLOBS)
    assert snapshot(root) == {b"mine": ("file", b"mine")}


def test_ground_is_made_where_there_is_none_and_given_back(tmp_path: Path):
    """A fork into forks/one/two makes what is missing, and leaves nothing if it fails."""
    path = tmp_path / "forks/one/two"
    ground = Ground(str(path), 0o750)
    assert (ground.path, stat.S_IMODE(path.stat().st_mode)) == (str(path), 0o750)
    ground.give_back()
    assert not (tmp_path / "forks").exists()
    path.mkdir(parents=True)
    Ground(str(path), 0o700).give_back()
    assert path.is_dir(), "it was there before"


def test_ground_that_is_taken_is_refused_with_the_reason(tmp_path: Path):
    """Nobody's files may be mixed with those of a fork."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full/mine").write_text("mine")
    (tmp_path / "file").write_text("file")
    (tmp_path / "link").symlink_to("full")
    (tmp_path / "broken").symlink_to("nowhere")
    for name, reason in [
        ("full", "is not empty: it holds 'mine'"),
        ("link", "is not empty"),
        ("file", "Not a directory"),
        ("file/below", "Not a directory"),
        ("nul\0", "No folder can be called"),
    ]:
        with pytest.raises(RefusedWorkspace, match=reason):
            Ground(f"{tmp_path}/{name}", 0o755)
    with pytest.raises(RefusedWorkspace, match="not an absolute path"):
        Ground("here", 0o755)
    assert sorted(os.listdir(tmp_path)) == ["broken", "file", "full", "link"]
