"""Acknowledged means durable: what reaches the disk in which order, and what happens when it does not."""

import contextlib
import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from backtrail.errors import StoreFailed
from backtraild import durable
from backtraild.store import Store, pack, packing, refs, repository
from support import faults
from support.disk import fsck
from support.drafts import save
from support.faults import FaultyOs, StingyOs

Git = Callable[..., bytes]
MODULES = [durable, pack, refs, repository]

# Every call with which a save touches the disk.
CALLS = [
    "open",
    "write",
    "pwrite",
    "pread",
    "fsync",
    "rename",
    "replace",
    "link",
    "unlink",
    "close",
    "makedirs",
    "stat",
]


@pytest.fixture
def git_dir(tmp_path: Path) -> Path:
    return tmp_path / "repo.git"


def seen_refs(git_dir: Path, git: Git) -> list[str]:
    return git("for-each-ref", "--format=%(refname)", git_dir=git_dir).decode().split()


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("spill_size", [50, 4 * 1024 * 1024], ids=["spilled", "buffered"])
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "lasting"])
def test_a_failing_disk_never_gives_a_checkpoint_and_the_next_save_works(
    number: int, spill_size: int, lasting: bool, git_dir: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each call fails in turn. A save is acknowledged or it is not there; libgit2 gives an id for a commit
    that was never written."""
    monkeypatch.setattr(pack, "SPILL_SIZE", spill_size)
    store = Store.create(str(git_dir))
    save(store, {b"a": b"first"})
    failures = 0
    for name in CALLS:
        for nth in range(1, 100):
            kept = list(store.numbers)
            faulty = FaultyOs(name, nth, number, lasting=lasting)
            with monkeypatch.context() as patch:
                faults.install(faulty, MODULES, patch)
                done = attempt(store, b"%s %d" % (name.encode(), nth))
            if done:
                assert store.numbers == [*kept, kept[-1] + 1]
                if not faulty.failed:
                    break
                continue
            failures += 1
            assert faulty.failed
            assert store.numbers == kept
            assert (git_dir / "refs/checkpoints" / str(kept[-1] + 1)).exists() is False, (name, nth)
            assert not list((git_dir / "objects/pack").glob("tmp_*")), (name, nth)
            assert attempt(store, b"after %s %d" % (name.encode(), nth))
    assert failures >= 11
    reopened = Store(str(git_dir))
    assert reopened.numbers == store.numbers
    assert [reopened.get(number_).number for number_ in reopened.numbers] == store.numbers
    assert seen_refs(git_dir, git) == sorted(f"refs/checkpoints/{number_}" for number_ in store.numbers)
    fsck(git_dir)


def attempt(store: Store, content: bytes) -> bool:
    """Save; False if the store said that it failed. No other error is allowed."""
    try:
        save(store, {b"a": content * 20})
    except StoreFailed as error:
        failure = error
    else:
        return True
    assert "could not be written" in failure.message
    assert failure.hint
    return False


def test_a_deletion_that_fails_is_reported_and_can_be_repeated(
    git_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Retention tries again later; a number is not reused whatever happened in between."""
    store = Store.create(str(git_dir))
    for nth in range(1, 40):
        made = save(store, {b"a": b"%d" % nth})
        store.pin(made.number)
        faulty = FaultyOs("fsync", nth, errno.EIO, lasting=False)
        with monkeypatch.context() as patch:
            faults.install(faulty, MODULES, patch)
            with contextlib.suppress(StoreFailed):
                store.delete(made.number)
        if not faulty.failed:
            break
        if store.has(made.number):
            store.delete(made.number)
        assert Store(str(git_dir)).numbers == []
    assert nth > 4
    assert save(Store(str(git_dir)), {b"a": b"x"}).number == made.number + 1


def test_a_write_that_takes_only_a_part_is_continued(
    git_dir: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may take less than it was given; what it left must follow."""
    monkeypatch.setattr(pack, "SPILL_SIZE", 1000)
    store = Store.create(str(git_dir))
    faults.install(StingyOs(), MODULES, monkeypatch)
    save(store, {b"a": os.urandom(5000), b"b": b"text"})
    fsck(git_dir)
    assert Store(str(git_dir)).get(1).number == 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system with room for two megabytes."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small file system needs root")
    mounted = tmp_path / "small"
    mounted.mkdir()
    options = ["-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mounted)]
    if subprocess.run(["mount", *options], capture_output=True).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        yield mounted
    finally:
        subprocess.run(["umount", str(mounted)], check=True)


def fill_up(path: Path) -> None:
    with contextlib.suppress(OSError), path.open("wb", buffering=0) as filler:
        while True:
            filler.write(bytes(4096))


def test_a_really_full_disk_costs_no_checkpoint(small_disk: Path, git: Git) -> None:
    """What was acknowledged stays, the error names the cause, and with room again saving goes on."""
    git_dir = small_disk / "repo.git"
    store = Store.create(str(git_dir))
    save(store, {b"a": b"first"})
    fill_up(small_disk / "filler")
    for content in (b"small", os.urandom(3_000_000)):
        with pytest.raises(StoreFailed, match="No space left on device"):
            save(store, {b"a": content})
        assert seen_refs(git_dir, git) == ["refs/checkpoints/1"]
    (small_disk / "filler").unlink()
    assert save(store, {b"a": b"second"}).number == 2
    fsck(git_dir)
    assert Store(str(git_dir)).numbers == [1, 2]


TRACED = """
import os, sys
from support.drafts import save
from backtraild.store import Store
if sys.argv[2] == "create":
    Store.create(sys.argv[1])
else:
    store = Store(sys.argv[1])
    save(store, {b"folder/a": b"first"}, base=store.newest_tree())
    store.settle()
    os.access("/begin-of-save", os.F_OK)
    save(store, {b"folder/a": b"changed"}, base=store.newest_tree())
    os.access("/end-of-save", os.F_OK)
    store.settle()
"""


def traced(git_dir: Path, what: str, log: Path) -> list[str]:
    """The system calls of a save that matter for durability, as strace saw them, with paths."""
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    folders = "access faccessat faccessat2 mkdir mkdirat"
    names = f"fsync fdatasync rename renameat renameat2 link linkat unlink unlinkat {folders}"
    calls = "trace=" + names.replace(" ", ",")
    command = [
        "strace",
        "-f",
        "-y",
        "-o",
        str(log),
        "-e",
        calls,
        sys.executable,
        "-c",
        TRACED,
        str(git_dir),
        what,
    ]
    path = os.pathsep.join(sys.path)
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip("tracing is not allowed here")
    assert done.returncode == 0, done.stderr
    lines = [re.sub(r"^\d+ +", "", line) for line in log.read_text().splitlines()]
    return [line for line in lines if re.match(r"[a-z0-9_]+\(", line)]


def test_content_is_durable_before_the_answer_and_all_that_leads_to_it_after(
    git_dir: Path, tmp_path: Path
) -> None:
    """A power cut at any line of these lists finds the old state or the new. One sync before the answer: one more would
    make every save slower, one less would make it a lie. The pledge goes when all that it stands for is there."""
    store = Store.create(str(git_dir))
    save(store, {b"folder/a": b"1", b"folder/b": b"2"})
    store.settle()
    lines = traced(git_dir, "save", tmp_path / "trace")
    begin, end = (
        next(at for at, line in enumerate(lines) if f"{word}-of-save" in line) for word in ("begin", "end")
    )
    assert [step for step in map(summary, lines[begin + 1 : end]) if step] == [
        "sync objects/pack/blank",
        "link objects/pack/blank -> objects/pack/pack.pack",
        "rename objects/pack/blank -> objects/pack/pack.idx",
        "rename blank -> refs/checkpoints/3",
    ]
    assert [step for step in map(summary, lines[end + 1 :]) if step] == [
        "sync objects/pack/pack.idx",
        "sync objects/pack",
        "sync refs/checkpoints/3",
        "sync refs/checkpoints",
        "unlink objects/pack/blank",
    ]


@pytest.mark.parametrize("left", [None, b"", b"\0" * 1272], ids=["no name", "no content", "no bytes"])
def test_an_index_that_a_power_cut_took_is_made_again(git_dir: Path, left: bytes | None) -> None:
    """It is not waited for, so whatever a file system leaves of it must not cost the checkpoint."""
    store = Store.create(str(git_dir))
    save(store, {b"a": b"first"})
    made = save(store, {b"a": b"second"})
    for index in (git_dir / "objects/pack").glob("*.idx"):
        content = index.read_bytes()
        index.unlink()
        if left is not None:
            index.write_bytes(left[: len(content)])
    reopened = Store(str(git_dir))
    assert reopened.get(made.number).id == made.id
    assert not any(mended.is_loss for mended in reopened.mended)
    fsck(git_dir)


def test_what_nobody_waited_for_is_synced_soon(git_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a power cut would leave hundreds of files to be made again, and the start would take as long."""
    synced: list[str] = []
    sync = durable.sync_file
    monkeypatch.setattr(durable, "sync_file", lambda path: synced.append(path) or sync(path))
    store = Store.create(str(git_dir))
    save(store, {b"a": b"first"})
    assert synced == []
    store.settle()
    assert synced == [
        *map(str, (git_dir / "objects/pack").glob("*.idx")),
        str(git_dir / "refs/checkpoints/1"),
    ]
    for number in range(packing.MOST_PLEDGES + 1):
        save(store, {b"a": b"%d" % number})
    assert len(synced) == 2 + 2 * packing.MOST_PLEDGES
    store.settle()
    store.settle()
    assert len(synced) == 4 + 2 * packing.MOST_PLEDGES


def test_an_index_that_is_gone_need_not_be_synced(git_dir: Path) -> None:
    """Maintenance has merged its pack into another one."""
    store = Store.create(str(git_dir))
    save(store, {b"a": b"first"})
    for index in (git_dir / "objects/pack").glob("*.idx"):
        index.unlink()
    store.settle()


def summary(line: str) -> str:
    """`sync path`, `rename old -> new` and the like, with the random parts of names taken out."""
    line = re.sub(r"(blank)-[0-9a-f]{16}|(pack)-[0-9a-f]{40}", lambda match: match[1] or match[2], line)
    if match := re.match(r"f(?:data)?sync\(\d+<.*/repo\.git/?(.*)>\) += 0", line):
        return f"sync {match[1]}"
    if match := re.match(
        r'(rename|link)\w*\(.*"[^"]*/repo\.git/([^"]*)",.*"[^"]*/repo\.git/([^"]*)".*\) += 0', line
    ):
        return f"{match[1]} {match[2]} -> {match[3]}"
    if match := re.match(r'unlink\w*\(.*"[^"]*/repo\.git/([^"]*)".*\) += 0', line):
        return f"unlink {match[1]}"
    return ""


def test_a_new_stores_folders_are_durable(git_dir: Path, tmp_path: Path) -> None:
    """The first checkpoint is only as durable as the folders it lies in: each one's name is synced too."""
    lines = traced(git_dir, "create", tmp_path / "trace")
    made = [match[1] for line in lines if (match := re.match(r'mkdir\w*\([^"]*"([^"]*)", \d+\) = 0', line))]
    made = [path for path in made if path.startswith(str(git_dir)) and not path.endswith("/spare")]
    assert len(made) >= 6
    for folder in made:
        created = next(
            at for at, line in enumerate(lines) if f'"{folder}"' in line and line.startswith("mkdir")
        )
        parent = os.path.dirname(folder)
        assert any(re.match(rf"fsync\(\d+<{re.escape(parent)}>\)", line) for line in lines[created:]), folder
