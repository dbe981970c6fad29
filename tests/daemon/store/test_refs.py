"""Refs as files: durable, understood by git, and never left out in silence."""

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from backtraild import durable
from backtraild.store import refs as refs_module
from backtraild.store.refs import Refs
from support import faults
from support.faults import FaultyOs

Git = Callable[..., bytes]
FOLDER = "refs/checkpoints"


@pytest.fixture
def repository(tmp_path: Path, git: Git) -> Path:
    git("init", "-q", "--bare", tmp_path / "store.git")
    return tmp_path / "store.git"


@pytest.fixture
def ids(repository: Path, git: Git) -> list[str]:
    """Objects to point at."""
    contents = [b"one", b"two", b"three"]
    return [
        git("hash-object", "-w", "--stdin", git_dir=repository, input=content).decode().strip()
        for content in contents
    ]


def seen_by_git(repository: Path, git: Git) -> dict[str, str]:
    lines = git("for-each-ref", "--format=%(refname) %(objectname)", git_dir=repository).decode().splitlines()
    return dict(line.split() for line in lines)


def test_git_sees_a_ref_and_its_new_value(repository: Path, ids: list[str], git: Git) -> None:
    """What keeps a checkpoint alive must keep it alive for `git gc` too."""
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[0])
    assert seen_by_git(repository, git) == {f"{FOLDER}/1": ids[0]}
    refs.write(f"{FOLDER}/1", ids[1])
    assert seen_by_git(repository, git) == {f"{FOLDER}/1": ids[1]}
    assert refs.read(f"{FOLDER}/1") == ids[1]
    assert refs.names(FOLDER) == ["1"]


def test_a_ref_written_by_git_is_read(repository: Path, ids: list[str], git: Git) -> None:
    """A store repaired with git commands works on."""
    git("update-ref", f"{FOLDER}/7", ids[0], git_dir=repository)
    assert Refs(str(repository)).read(f"{FOLDER}/7") == ids[0]


def test_nothing_is_there_at_first(repository: Path) -> None:
    """A new store has no checkpoints, and no folder for them either."""
    refs = Refs(str(repository))
    assert refs.names(FOLDER) == []
    assert refs.read(f"{FOLDER}/1") is None
    refs.delete(f"{FOLDER}/1")


def test_a_deleted_ref_is_gone_for_git(repository: Path, ids: list[str], git: Git) -> None:
    """Deleting a checkpoint is deleting its ref."""
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[0])
    refs.write(f"{FOLDER}/2", ids[1])
    refs.delete(f"{FOLDER}/1")
    assert seen_by_git(repository, git) == {f"{FOLDER}/2": ids[1]}
    assert refs.names(FOLDER) == ["2"]
    assert refs.read(f"{FOLDER}/1") is None


def test_refs_that_git_packed_are_read_listed_and_deleted(repository: Path, ids: list[str], git: Git) -> None:
    """`git gc` moves all refs into one file. A checkpoint deleted after that must not come back."""
    refs = Refs(str(repository))
    for number, oid in enumerate(ids):
        refs.write(f"{FOLDER}/{number}", oid)
    git("pack-refs", "--all", "--prune", git_dir=repository)
    assert not list((repository / FOLDER).glob("*"))
    assert refs.names(FOLDER) == ["0", "1", "2"]
    assert [refs.read(f"{FOLDER}/{number}") for number in range(3)] == ids
    refs.delete(f"{FOLDER}/1")
    assert refs.names(FOLDER) == ["0", "2"]
    assert refs.read(f"{FOLDER}/1") is None
    assert seen_by_git(repository, git) == {f"{FOLDER}/0": ids[0], f"{FOLDER}/2": ids[2]}
    assert Refs(str(repository)).names(FOLDER) == ["0", "2"]


def test_a_loose_ref_wins_over_a_packed_one_and_both_are_deleted(
    repository: Path, ids: list[str], git: Git
) -> None:
    """Deleting only the newer of two values would bring the older one back to life."""
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[0])
    git("pack-refs", "--all", git_dir=repository)
    refs.write(f"{FOLDER}/1", ids[1])
    assert refs.read(f"{FOLDER}/1") == ids[1]
    refs.delete(f"{FOLDER}/1")
    assert refs.read(f"{FOLDER}/1") is None
    assert seen_by_git(repository, git) == {}


def test_tags_in_the_packed_file_survive_a_deletion(repository: Path, ids: list[str], git: Git) -> None:
    """The packed file has lines that are not refs; git must be able to read what is left of it."""
    git("config", "user.name", "t", git_dir=repository)
    git("config", "user.email", "t@example.org", git_dir=repository)
    git("tag", "-a", "-m", "a tag", "marked", ids[0], git_dir=repository)
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[1])
    git("pack-refs", "--all", "--prune", git_dir=repository)
    refs.delete(f"{FOLDER}/1")
    assert list(seen_by_git(repository, git)) == ["refs/tags/marked"]
    assert git("rev-parse", "marked^{}", git_dir=repository).decode().strip() == ids[0]


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"abc\n", b"z" * 40 + b"\n", b"\xff" * 41, b"0" * 64 + b"\n"]
)
def test_a_damaged_ref_is_listed_and_has_no_value(content: bytes, repository: Path, ids: list[str]) -> None:
    """libgit2 leaves such a ref out of its list: the checkpoint would be missing without a word."""
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[0])
    (repository / FOLDER / "1").write_bytes(content)
    assert refs.names(FOLDER) == ["1"]
    assert refs.read(f"{FOLDER}/1") is None


def test_a_damaged_ref_does_not_fall_back_to_an_older_value(
    repository: Path, ids: list[str], git: Git
) -> None:
    """A packed value under a damaged file may be that of long ago."""
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[0])
    git("pack-refs", "--all", git_dir=repository)
    (repository / FOLDER).mkdir(exist_ok=True)
    (repository / FOLDER / "1").write_bytes(b"")
    assert refs.read(f"{FOLDER}/1") is None


def test_a_damaged_line_among_packed_refs_has_no_value(repository: Path, ids: list[str], git: Git) -> None:
    """An id with a flipped bit is no id; callers turn what they get into bytes."""
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[0])
    refs.write(f"{FOLDER}/2", ids[1])
    git("pack-refs", "--all", "--prune", git_dir=repository)
    packed = repository / "packed-refs"
    packed.write_bytes(packed.read_bytes().replace(ids[0][:4].encode(), b"\xff\x00zz") + b"\xfe half a line")
    assert refs.names(FOLDER) == ["1", "2"]
    assert refs.read(f"{FOLDER}/1") is None
    assert refs.read(f"{FOLDER}/2") == ids[1]


def test_a_folder_in_the_place_of_a_ref_is_damage(repository: Path) -> None:
    """Not an error that nobody knows how to report."""
    (repository / FOLDER / "1").mkdir(parents=True)
    refs = Refs(str(repository))
    assert refs.names(FOLDER) == ["1"]
    assert refs.read(f"{FOLDER}/1") is None


def test_what_a_crash_left_half_written_is_no_ref(repository: Path, ids: list[str], git: Git) -> None:
    """A temporary file beside the refs is not a checkpoint, and does not hinder the next one."""
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[0])
    (repository / FOLDER / "1.tmp").write_bytes(b"abc")
    (repository / FOLDER / "2.lock").write_bytes(b"")
    assert refs.names(FOLDER) == ["1"]
    refs.write(f"{FOLDER}/1", ids[1])
    assert refs.read(f"{FOLDER}/1") == ids[1]


def test_refs_packed_while_the_store_is_open_are_seen(repository: Path, ids: list[str], git: Git) -> None:
    """The packed file is remembered, but only as long as it is the same."""
    refs = Refs(str(repository))
    for round_, oid in enumerate(ids):
        refs.write(f"{FOLDER}/{round_}", oid)
        git("pack-refs", "--all", "--prune", git_dir=repository)
        assert refs.read(f"{FOLDER}/{round_}") == oid
        assert len(refs.names(FOLDER)) == round_ + 1


def test_many_refs_are_removed_together_loose_and_packed(repository: Path, ids: list[str], git: Git) -> None:
    """Retention drops hundreds at once; one file written anew for each of them took seconds."""
    refs = Refs(str(repository))
    for number in range(1, 6):
        refs.write(f"{FOLDER}/{number}", ids[0])
    git("pack-refs", "--all", git_dir=repository)
    refs.write(f"{FOLDER}/2", ids[1])
    refs.write(f"{FOLDER}/6", ids[2])
    refs.delete_many([f"{FOLDER}/{number}" for number in (1, 2, 4, 6, 99)])
    assert seen_by_git(repository, git) == {f"{FOLDER}/3": ids[0], f"{FOLDER}/5": ids[0]}
    assert Refs(str(repository)).names(FOLDER) == ["3", "5"]


def test_few_loose_refs_stay_as_they_are(repository: Path, ids: list[str]) -> None:
    """One small file for each checkpoint is what a save writes, and is quick enough."""
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[0])
    refs.pack(FOLDER)
    refs.pack("refs/nothing")
    assert not (repository / "packed-refs").exists()


def test_many_loose_refs_move_into_one_file(
    repository: Path, ids: list[str], git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty thousand small files take eighty megabytes, and long to list."""
    monkeypatch.setattr(refs_module, "MANY_LOOSE", 3)
    refs = Refs(str(repository))
    refs.write("refs/pinned/1", ids[2])
    for number in range(1, 9):
        refs.write(f"{FOLDER}/{number}", ids[number % 3])
    git("pack-refs", "--all", git_dir=repository)
    for number in range(5, 12):
        refs.write(f"{FOLDER}/{number}", ids[number % 2])
    before = seen_by_git(repository, git)
    refs.pack(FOLDER)
    assert list((repository / FOLDER).iterdir()) == []
    assert seen_by_git(repository, git) == before
    assert refs.read(f"{FOLDER}/7") == ids[1]
    assert (repository / "packed-refs").read_text().startswith("# pack-refs with: sorted \n")
    refs.delete(f"{FOLDER}/7")
    assert f"{FOLDER}/7" not in seen_by_git(repository, git)


def test_a_long_file_of_refs_is_not_written_again_for_a_few(
    repository: Path, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a store with a hundred thousand checkpoints it has megabytes, and saves wait for it."""
    monkeypatch.setattr(refs_module, "MANY_LOOSE", 3)
    lines = "".join(f"{ids[0]} {FOLDER}/{number}\n" for number in range(10_000, 12_000))
    (repository / "packed-refs").write_text(f"# pack-refs with: sorted \n{lines}")
    refs = Refs(str(repository))
    assert 6 * 16_384 < refs.packed_size < 9 * 16_384
    for number in range(1, 7):
        refs.write(f"{FOLDER}/{number}", ids[1])
    refs.pack(FOLDER)
    assert len(list((repository / FOLDER).iterdir())) == 6
    for number in range(7, 10):
        refs.write(f"{FOLDER}/{number}", ids[1])
    refs.pack(FOLDER)
    assert list((repository / FOLDER).iterdir()) == []
    assert refs.read(f"{FOLDER}/8") == ids[1]


def test_a_damaged_ref_is_not_packed_and_a_damaged_line_not_dropped(
    repository: Path, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever led to a checkpoint may be healed; what is tidied away can't be."""
    monkeypatch.setattr(refs_module, "MANY_LOOSE", 0)
    (repository / "packed-refs").write_text(
        f"# pack-refs with: sorted \n{ids[0][:17]}\n{ids[1]} {FOLDER}/3\n"
    )
    refs = Refs(str(repository))
    refs.write(f"{FOLDER}/1", ids[0])
    (repository / FOLDER / "2").write_text("")
    refs.pack(FOLDER)
    refs.delete(f"{FOLDER}/3")
    assert (repository / FOLDER / "2").exists()
    assert f"{ids[0][:17]}\n" in (repository / "packed-refs").read_text()
    assert dict(refs.every()) == {
        f"{FOLDER}/1": ids[0],
        f"{FOLDER}/2": None,
        f"packed-refs ({ids[0][:17]})": None,
    }


def test_every_ref_is_told_once_with_its_newest_value(repository: Path, ids: list[str], git: Git) -> None:
    """What an older, packed value led to may be long gone."""
    refs = Refs(str(repository))
    refs.write("refs/a/deep/one", ids[0])
    refs.write("refs/b", ids[0])
    git("pack-refs", "--all", git_dir=repository)
    refs.write("refs/b", ids[1])
    assert sorted(refs.every()) == [("refs/a/deep/one", ids[0]), ("refs/b", ids[1])]


def test_a_crash_while_refs_move_leaves_each_at_its_value(
    repository: Path, ids: list[str], git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First they are all in the one file, then the small ones go."""
    monkeypatch.setattr(refs_module, "MANY_LOOSE", 0)
    refs = Refs(str(repository))
    for number in range(4):
        refs.write(f"{FOLDER}/{number}", ids[number % 3])
    before = seen_by_git(repository, git)
    for name in ("replace", "unlink", "fsync"):
        for nth in range(1, 4):
            with monkeypatch.context() as patch:
                faults.install(FaultyOs(name, nth, errno.EIO, lasting=True), [refs_module, durable], patch)
                with contextlib.suppress(OSError):
                    refs.pack(FOLDER)
            assert seen_by_git(repository, git) == before
            assert dict(Refs(str(repository)).every()) == before


def test_a_folder_of_refs_that_cannot_be_listed_is_not_taken_for_empty(
    repository: Path, monkeypatch: pytest.MonkeyPatch
):
    """For want of a descriptor, upkeep would throw away everything that these refs lead to."""
    refs = Refs(str(repository))
    refs.write("refs/transcripts/one", "1" * 40)
    scandir = os.scandir

    def fail(path: str) -> Any:
        if path.endswith("transcripts"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", fail)
    with pytest.raises(OSError, match="Too many open files"):
        list(refs.every())
