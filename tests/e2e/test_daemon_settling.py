"""Automatic checkpoints on real folders: what editors, git, logs and large files lead to."""

import itertools
import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from backtrail.errors import NothingToDo
from backtraild import settle
from backtraild.model import Intent, Kind
from support.serving import PATIENCE, Site, desk
from support.watching import eventually


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with desk(tmp_path) as at:
        yield at.watch()


@contextmanager
def again_and_again(action: Callable[[int], None], pause: float) -> Iterator[None]:
    """Another process's habit, in a thread: an action at an interval until the block ends."""
    stopped = threading.Event()

    def run() -> None:
        number = 0
        while not stopped.wait(pause):
            action(number)
            number += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def by_temporary_file(path: Path, content: bytes) -> None:
    """As vim with `backupcopy=no`, VS Code's atomic save, and most agents do it."""
    temporary = path.with_name(f".{path.name}.swp~")
    temporary.write_bytes(content)
    os.replace(temporary, path)


def in_place(path: Path, content: bytes) -> None:
    """Truncate, then write in pieces."""
    with path.open("wb", buffering=0) as file:
        for start in range(0, len(content), 7):
            file.write(content[start : start + 7])


def with_backup_file(path: Path, content: bytes) -> None:
    """As emacs does it: the old one is moved away, the new one written, the backup removed."""
    backup = path.with_name(path.name + ".backup")
    os.rename(path, backup)
    path.write_bytes(content)
    backup.unlink()


@pytest.mark.parametrize("save", [by_temporary_file, in_place, with_backup_file])
def test_one_save_of_an_editor_is_one_checkpoint_of_one_file(site: Site, save: Callable[[Path, bytes], None]):
    """Temporary and backup files are the editor's business; the user saved one file."""
    path = site.write("src/app.py", "old\n")
    site.wait_for("src/app.py", b"old\n")
    before = site.newest().number
    save(path, b"new content of the file\n")
    made = site.wait_for("src/app.py", b"new content of the file\n")
    site.wait_until_settled()
    assert site.newest().number == before + 1 == made.number
    assert made.kind is Kind.AUTO
    assert made.message == "src/app.py changed"
    assert [(change.path, change.status.value) for change in made.files_changed] == [
        (b"src/app.py", "modified")
    ]


def test_the_message_of_an_automatic_checkpoint_says_what_happened(site: Site):
    """A list of fifty times `auto` helps nobody to find the one they want."""
    for name in ("a.py", "b.py", "c.py"):
        site.write(name)
    site.wait_for("c.py", b"content\n")
    site.wait_until_settled()
    messages = [checkpoint.message for checkpoint in site.checkpoints()[1:]]
    assert messages == ["3 files added: a.py, b.py, c.py"]


def test_a_batch_that_leaves_everything_as_it_was_makes_no_checkpoint(site: Site):
    """A build that writes the same bytes again, and a file that came and went, are no states of their own."""
    path = site.write("a", "same")
    site.wait_for("a", b"same")
    site.wait_until_settled()
    before = site.newest().number
    looks = count_looks(site)
    path.write_bytes(b"same")
    site.write("came").unlink()
    eventually(lambda: len(looks) >= 1)
    site.wait_until_settled()
    assert site.newest().number == before


def count_looks(site: Site) -> list[object]:
    """Grows with every look at the disk that the worker takes from now on."""
    looks: list[object] = []

    def install(keeper) -> None:
        save = keeper.workspace.save

        def counted(*arguments, **options):
            looks.append(arguments)
            return save(*arguments, **options)

        keeper.workspace.save = counted

    site.desk.service.ask(site.id, install)
    return looks


@pytest.fixture
def repository(site: Site, git: Callable[..., bytes]) -> Callable[..., bytes]:
    """The workspace is a git repository with two branches that differ in sixty files."""

    def run(*arguments: str) -> bytes:
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        return git(*identity, *arguments, cwd=site.root)

    run("init", "-q", "-b", "main")
    for branch in ("main", "other"):
        if branch == "other":
            run("checkout", "-q", "-b", "other")
        for number in range(60):
            site.write(f"dir{number % 6}/file{number}", f"{branch} {number}\n")
        run("add", "-A")
        run("commit", "-q", "-m", branch)
    site.wait_for("dir5/file59", b"other 59\n")
    site.wait_until_settled()
    return run


def test_a_checkout_of_a_branch_is_one_checkpoint(site: Site, repository: Callable[..., bytes]):
    """Going back to before the checkout must not lead into the middle of it."""
    before = site.newest().number
    repository("checkout", "-q", "main")
    made = site.wait_for("dir5/file59", b"main 59\n")
    site.wait_until_settled()
    assert site.newest().number == before + 1
    assert made.files_changed_count == 60
    assert b".git" not in b" ".join(site.captured())


def test_while_git_holds_its_lock_nothing_is_saved_and_everything_afterwards(
    site: Site, repository: Callable[..., bytes]
):
    """A slow checkout is quiet between two files; only the lock tells that it is not over."""
    before = site.newest().number
    lock = site.root / ".git" / "index.lock"
    lock.touch()
    for number in range(3):
        site.write(f"half{number}")
        seen_waiting(site)
    assert site.newest().number == before
    lock.unlink()
    made = site.wait_for("half2", b"content\n")
    assert made.number == before + 1
    assert made.files_changed_count == 3


def seen_waiting(site: Site) -> None:
    """Four quiet periods in which changes were pending all the time."""
    until = time.monotonic() + 0.2
    eventually(lambda: site.desk.service.status(site.id).pending or time.monotonic() > until)
    while time.monotonic() < until:
        assert site.desk.service.status(site.id).pending
        site.desk.service.worker(site.id).ask(lambda _: None).result()


def test_a_save_by_hand_does_not_wait_for_git(site: Site, repository: Callable[..., bytes]):
    """Whoever asks for a checkpoint knows what they want."""
    (site.root / ".git" / "index.lock").touch()
    site.write("now")
    assert b"now" in [change.path for change in site.desk.service.save(site.id).files_changed]


def test_a_lock_that_git_left_behind_defers_checkpoints_only_for_a_while(
    site: Site, repository: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
):
    """Git was killed and its lock stays: protection must go on without anybody's help."""
    monkeypatch.setattr(settle, "GIT_PATIENCE", 0.5)
    (site.root / ".git" / "index.lock").touch()
    started = time.monotonic()
    site.write("a", "1")
    site.wait_for("a", b"1")
    assert time.monotonic() - started >= 0.5
    site.write("a", "2")
    site.wait_for("a", b"2")  # and from then on as ever


def test_a_worktree_in_a_folder_of_a_repository_is_deferred_as_well(
    tmp_path: Path, git: Callable[..., bytes]
):
    """The watched folder may lie inside the working tree, and `.git` may be a file."""
    outer, tree = tmp_path / "outer", tmp_path / "tree"
    git("init", "-q", outer)
    git("-C", outer, "-c", "user.name=t", "-c", "user.email=t@e", "commit", "-q", "--allow-empty", "-m", "x")
    git("-C", outer, "worktree", "add", "-q", tree)
    with desk(tmp_path) as at:
        site = at.watch("tree/inside")
        lock = outer / ".git" / "worktrees" / "tree" / "index.lock"
        lock.touch()
        site.write("a", "1")
        seen_waiting(site)
        assert site.content("a") is None
        lock.unlink()
        site.wait_for("a", b"1")


def test_a_log_that_never_rests_neither_postpones_checkpoints_nor_makes_a_storm_of_them(site: Site):
    """Quiet never comes in a busy folder, so patience must end the wait, and only patience."""
    log = site.write("busy.log", b"")
    site.wait_until_settled()
    first = site.newest().number

    def append(number: int) -> None:
        with log.open("a") as file:
            file.write(f"line {number}\n")

    with again_and_again(append, 0.02):
        started = time.monotonic()
        eventually(lambda: site.newest().number >= first + 2)
        site.write("quiet.txt", "wanted")
        site.wait_for("quiet.txt", b"wanted", seconds=3 * PATIENCE)
        lasted = time.monotonic() - started
    made = site.newest().number - first
    assert made <= lasted / PATIENCE + 2, f"{made} checkpoints in {lasted:.1f} s"


def test_a_large_file_that_never_rests_is_captured_less_and_less_often(tmp_path: Path):
    """A gigabyte that changes all the time must not be copied all the time."""
    with desk(tmp_path, quiet=0.01, patience=0.2) as at:
        site = at.watch()
        # Whole from its first moment on: a part of it, captured while it is written, would be a small file.
        (tmp_path / "data.db").write_bytes(bytes(settle.LARGE))
        big = (tmp_path / "data.db").rename(site.root / "data.db")

        def change(number: int) -> None:
            with big.open("r+b") as file:
                file.write(b"%d" % number)

        with again_and_again(change, 0.01):
            eventually(lambda: len(captures_of(site, b"data.db")) >= 4, 30)
            times = captures_of(site, b"data.db")
            gaps = [after - before for before, after in itertools.pairwise(times)]
            assert gaps[2] > 1.5 * gaps[0] >= 0.3, gaps
            site.write("small", "not held back")
            site.wait_for("small", b"not held back")


def captures_of(site: Site, path: bytes) -> list[float]:
    """When a file was captured."""
    return [
        checkpoint.timestamp.timestamp()
        for checkpoint in site.checkpoints()
        if path in {change.path for change in checkpoint.files_changed}
    ]


def test_a_save_by_hand_includes_a_large_file_that_is_held_back(tmp_path: Path):
    """A checkpoint that somebody asked for is complete, whatever it costs."""
    with desk(tmp_path, quiet=0.02, patience=60) as at:
        site = at.watch()
        big = site.write("data.db", bytes(settle.LARGE))
        site.wait_for("data.db", bytes(settle.LARGE))
        before = site.newest().number
        big.write_bytes(b"x" * settle.LARGE)
        eventually(lambda: at.service.worker(site.id)._keeper.resting == {b"data.db"})
        assert at.service.status(site.id).pending == 1
        assert site.newest().number == before
        saved = at.service.save(site.id)
        assert [change.path for change in saved.files_changed] == [b"data.db"]
        assert at.service.status(site.id).pending == 0


def test_a_save_holds_every_write_that_was_finished_before_it(tmp_path: Path):
    """An agent writes and saves at once; what it wrote must be what it can go back to."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        for number in range(200):
            site.write(f"d{number % 7}/file{number % 11}", f"{number}")
            saved = at.service.save(site.id, Intent(message=f"{number}"))
            path = f"d{number % 7}/file{number % 11}".encode()
            assert at.service.read(site.id, str(saved.number), path) == b"%d" % number


def test_saving_twice_says_that_there_is_nothing_to_do(site: Site):
    """A save that made no checkpoint must not look like one that did."""
    site.write("a")
    site.desk.service.save(site.id)
    with pytest.raises(NothingToDo):
        site.desk.service.save(site.id)
    assert site.desk.service.save(site.id, allow_empty=True).files_changed_count == 0


def test_what_happens_during_a_pause_is_captured_after_it(site: Site):
    """A pause is for a noisy hour, not for losing it."""
    site.desk.service.pause(site.id, paused=True)
    eventually(lambda: site.state == "paused")
    before = site.newest().number
    site.write("new/folder/file", "1")
    eventually(lambda: site.desk.service.status(site.id).pending)
    site.desk.service.worker(site.id).ask(lambda _: time.sleep(0.1)).result()
    assert site.newest().number == before
    site.desk.service.pause(site.id, paused=False)
    site.wait_for("new/folder/file", b"1")
    assert site.state == "watching"


def test_a_pause_lasts_over_a_restart_and_nothing_of_it_is_lost(site: Site):
    """The machine is started again during the pause, and files change while it is off."""
    site.write("a", "1")
    site.wait_for("a", b"1")
    site.desk.service.pause(site.id, paused=True)
    site.desk.service.stop()
    site.write("a", "2")
    before = len(os.listdir(site.git_dir / "refs" / "checkpoints"))
    site.desk.restart()
    assert site.state == "paused"
    site.write("b", "3")
    eventually(lambda: site.desk.service.status(site.id).pending)
    assert len(site.checkpoints()) == before
    site.desk.service.pause(site.id, paused=False)
    made = site.wait_for("b", b"3")
    assert {change.path for change in made.files_changed} == {b"a", b"b"}


def test_without_automatic_checkpoints_only_a_save_makes_one(tmp_path: Path):
    """`auto_checkpoint=False` is for frameworks that decide themselves."""
    with desk(tmp_path, auto_checkpoint=False) as at:
        site = at.watch()
        site.write("a", "1")
        eventually(lambda: at.service.status(site.id).pending)
        at.service.worker(site.id).ask(lambda _: time.sleep(0.15)).result()
        assert site.newest().number == 1
        at.restart()
        assert site.newest().number == 1
        assert [change.path for change in at.service.save(site.id).files_changed] == [b"a"]
        assert site.state == "watching"


def test_a_full_save_finds_writes_that_no_kernel_reports(site: Site, tmp_path: Path):
    """Memory maps and hard links outside change files without an event; `--full` is the answer to a doubt."""
    mapped = site.write("mapped", b"a" * 8192)
    linked = site.write("linked", b"before")
    outside = tmp_path / "outside"
    os.link(linked, outside)
    site.desk.service.save(site.id)
    site.wait_until_settled()
    with mapped.open("r+b") as file, mmap.mmap(file.fileno(), 8192) as memory:
        site.desk.service.save(site.id, allow_empty=True)
        site.wait_until_settled()
        memory[0:1] = b"z"
        outside.write_bytes(b"after!")
        with pytest.raises(NothingToDo):
            site.desk.service.save(site.id)
        saved = site.desk.service.save(site.id, full=True)
    assert {change.path for change in saved.files_changed} == {b"linked", b"mapped"}
